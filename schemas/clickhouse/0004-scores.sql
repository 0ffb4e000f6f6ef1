-- One current row for each score id. `Day` is the UTC day of the first score of that id and never moves, so that a
-- re-score replaces its row; `WrittenAt` is set by the store, for exporters that ask for what is new and for expiry.
-- Verdicts quote spans, so they go when the spans go.

CREATE TABLE IF NOT EXISTS scores
(
    `ScoreId` UUID,
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `SpanId` String CODEC(ZSTD(1)),
    `Target` LowCardinality(String),
    `TargetId` String CODEC(ZSTD(1)),
    `SessionId` String CODEC(ZSTD(1)),
    `Scorer` LowCardinality(String),
    `ScorerVersion` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `JudgeModel` LowCardinality(String),
    `PromptVersion` LowCardinality(String),
    `Score` Float64,
    `Label` LowCardinality(String),
    `HigherIsBetter` Nullable(Bool),
    `ScoreMin` Nullable(Float64),
    `ScoreMax` Nullable(Float64),
    `Reason` String CODEC(ZSTD(1)),
    `Verdicts` String CODEC(ZSTD(1)) TTL toDateTime(WrittenAt) + toIntervalDay(30),
    `ServiceName` LowCardinality(String),
    `ServiceVersion` LowCardinality(String),
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Model` LowCardinality(String),
    `UserId` String CODEC(ZSTD(1)),
    `TraceTimestamp` DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `ScoredAt` DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `InputTokens` Nullable(UInt64),
    `OutputTokens` Nullable(UInt64),
    `CostUsd` Nullable(Float64),
    `JudgeCalls` UInt32,
    `DurationMs` Float64,
    `Redactions` UInt32,
    `Stratum` LowCardinality(String),
    `InclusionProbability` Float64,
    `Weight` Nullable(Float64),
    `Revision` UInt32,
    `Completeness` LowCardinality(String),
    `Source` LowCardinality(String),
    `EvidenceHash` String CODEC(ZSTD(1)),
    `EvidenceUntil` DateTime64(3, 'UTC'),
    `Day` Date,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64,
    `IsDeleted` UInt8,
    INDEX by_score_id ScoreId TYPE bloom_filter(0.0001) GRANULARITY 1,
    INDEX by_trace_id TraceId TYPE bloom_filter(0.0001) GRANULARITY 1,
    INDEX by_written_at WrittenAt TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
PARTITION BY toYYYYMM(Day)
ORDER BY (Tenant, Scorer, Day, ScoreId)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000;

-- What was delivered where.
CREATE TABLE IF NOT EXISTS exports
(
    `Exporter` LowCardinality(String),
    `ScoreId` UUID,
    `Revision` UInt32,
    `ExportedAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(ExportedAt)
ORDER BY (Exporter, ScoreId, Revision)
TTL toDateTime(ExportedAt) + toIntervalDay(400)
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 1000;
