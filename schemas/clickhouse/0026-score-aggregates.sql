-- Sums of current scores for the pages, by the hour and by the day in which the scored run began. A bucket is computed from the scores
-- and replaced as a whole, never added to. A row whose scores are gone is replaced by a deleted one. `Version` rises with each
-- computation of a bucket. SquaredWeight: a trace is one observation, so the weights of its scores are added before they are squared.

CREATE TABLE IF NOT EXISTS score_hours
(
    `Tenant` LowCardinality(String),
    `Scorer` LowCardinality(String),
    `Bucket` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Source` LowCardinality(String),
    `Stratum` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `Target` LowCardinality(String),
    `Agent` LowCardinality(String),
    `ServiceName` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Model` LowCardinality(String),
    `ServiceVersion` LowCardinality(String),
    `AgentVersion` LowCardinality(String),
    -- Both 0 for a scorer without a range.
    `ScoreMin` Float64,
    `ScoreMax` Float64,
    -- 1: higher is better, -1: lower is better, 0: neither.
    `Direction` Int8,
    -- 0 for scores without a weight: they count as 1 each.
    `IsWeighted` UInt8,
    `Scores` UInt64,
    `Weight` Float64,
    `SquaredWeight` Float64,
    `Total` Float64,
    `SquaredTotal` Float64,
    -- Histogram. Of a scorer with a range: thousandths of the range. Else: rounded logarithms of the value, with its sign.
    `Bins` Array(Int32) CODEC(ZSTD(1)),
    `BinScores` Array(UInt64) CODEC(ZSTD(1)),
    `BinWeights` Array(Float64) CODEC(ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64,
    `IsDeleted` UInt8
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
PARTITION BY toYYYYMM(Bucket)
ORDER BY (Tenant, Scorer, Bucket, Source, Stratum, Fingerprint, Target, Agent, ServiceName, Environment, Model, ServiceVersion,
    AgentVersion, ScoreMin, ScoreMax, Direction, IsWeighted)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 0;

-- The same by the UTC day, computed from the hours.
CREATE TABLE IF NOT EXISTS score_days
(
    `Tenant` LowCardinality(String),
    `Scorer` LowCardinality(String),
    `Bucket` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Source` LowCardinality(String),
    `Stratum` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `Target` LowCardinality(String),
    `Agent` LowCardinality(String),
    `ServiceName` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Model` LowCardinality(String),
    `ServiceVersion` LowCardinality(String),
    `AgentVersion` LowCardinality(String),
    `ScoreMin` Float64,
    `ScoreMax` Float64,
    `Direction` Int8,
    `IsWeighted` UInt8,
    `Scores` UInt64,
    `Weight` Float64,
    `SquaredWeight` Float64,
    `Total` Float64,
    `SquaredTotal` Float64,
    `Bins` Array(Int32) CODEC(ZSTD(1)),
    `BinScores` Array(UInt64) CODEC(ZSTD(1)),
    `BinWeights` Array(Float64) CODEC(ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64,
    `IsDeleted` UInt8
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
PARTITION BY toYYYYMM(Bucket)
ORDER BY (Tenant, Scorer, Bucket, Source, Stratum, Fingerprint, Target, Agent, ServiceName, Environment, Model, ServiceVersion,
    AgentVersion, ScoreMin, ScoreMax, Direction, IsWeighted)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 0;

-- Hours that have to be computed again although no row was written: rows were deleted.
CREATE TABLE IF NOT EXISTS aggregate_touches
(
    `Tenant` LowCardinality(String),
    `Bucket` DateTime64(3, 'UTC'),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY WrittenAt
TTL toDateTime(WrittenAt) + toIntervalDay(30);

-- Time of the store's clock up to which written scores are in the aggregates.
CREATE TABLE IF NOT EXISTS aggregate_progress
(
    `Name` String,
    `DoneUntil` DateTime64(3, 'UTC'),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(WrittenAt)
ORDER BY Name;

-- The scores of an hour are found without a scan of all of them.
ALTER TABLE scores
    ADD INDEX IF NOT EXISTS by_trace_timestamp TraceTimestamp TYPE minmax GRANULARITY 1;
ALTER TABLE scores
    MATERIALIZE INDEX by_trace_timestamp;

-- A score that is replaced by one of another hour leaves its former hour. Rows of before have 1970.
ALTER TABLE score_arrivals
    ADD COLUMN IF NOT EXISTS `TraceTimestamp` DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1));

ALTER TABLE score_arrivals_of_scores MODIFY QUERY
SELECT
    WrittenAt, ScoreId, Tenant, TraceId, Target, Scorer, Fingerprint, Agent, AgentVersion, Environment, ServiceName,
    ServiceVersion, Model, Score, HigherIsBetter, ScoreMin, ScoreMax, Stratum, Source, Revision,
    toUnixTimestamp64Milli(toDateTime64(ScoredAt, 3, 'UTC')) - toUnixTimestamp64Milli(EvidenceUntil) AS DelayMs,
    TraceTimestamp
FROM scores
WHERE IsDeleted = 0;
