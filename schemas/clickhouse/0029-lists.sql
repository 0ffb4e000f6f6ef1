-- Lists of scores and of traces by the start of the run, so that a page reads a page. A row here is a candidate: the tables `scores`
-- and `runs` have the current row, which may have another start. Only the first run of a trace is listed.

CREATE TABLE IF NOT EXISTS score_starts
(
    `TraceTimestamp` DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `ScoreId` UUID,
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `SessionId` String CODEC(ZSTD(1)),
    `UserId` String CODEC(ZSTD(1)),
    `Scorer` LowCardinality(String),
    `Day` Date,
    `ServiceName` LowCardinality(String),
    `ServiceVersion` LowCardinality(String),
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Model` LowCardinality(String),
    `Score` Float64,
    `HigherIsBetter` Nullable(Bool),
    `ScoreMin` Nullable(Float64),
    `ScoreMax` Nullable(Float64),
    `Source` LowCardinality(String),
    `WrittenAt` DateTime64(3, 'UTC'),
    `Version` UInt64,
    `IsDeleted` UInt8
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
ORDER BY (TraceTimestamp, ScoreId)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS score_starts_of_scores TO score_starts AS
SELECT
    TraceTimestamp, ScoreId, Tenant, TraceId, SessionId, UserId, Scorer, Day, ServiceName, ServiceVersion, Agent, Environment,
    Model, Score, HigherIsBetter, ScoreMin, ScoreMax, Source, WrittenAt, Version, IsDeleted
FROM scores;

INSERT INTO score_starts
SELECT
    TraceTimestamp, ScoreId, Tenant, TraceId, SessionId, UserId, Scorer, Day, ServiceName, ServiceVersion, Agent, Environment,
    Model, Score, HigherIsBetter, ScoreMin, ScoreMax, Source, WrittenAt, Version, IsDeleted
FROM scores;

CREATE TABLE IF NOT EXISTS run_starts
(
    `StartedAt` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `TraceId` String CODEC(ZSTD(1)),
    `Tenant` LowCardinality(String),
    `SessionId` String CODEC(ZSTD(1)),
    `UserId` String CODEC(ZSTD(1)),
    `ServiceName` LowCardinality(String),
    `ServiceVersion` LowCardinality(String),
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Models` Array(LowCardinality(String)),
    `WrittenAt` DateTime64(3, 'UTC'),
    `Version` UInt64,
    `IsDeleted` UInt8
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
ORDER BY (StartedAt, TraceId, Tenant)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS run_starts_of_runs TO run_starts AS
SELECT
    StartedAt, TraceId, Tenant, SessionId, UserId, ServiceName, ServiceVersion, Agent, Environment, Models, WrittenAt, Version,
    IsDeleted
FROM runs
WHERE Target = 'trace' AND TargetId = TraceId;

INSERT INTO run_starts
SELECT
    StartedAt, TraceId, Tenant, SessionId, UserId, ServiceName, ServiceVersion, Agent, Environment, Models, WrittenAt, Version,
    IsDeleted
FROM runs
WHERE Target = 'trace' AND TargetId = TraceId;
