-- Decisions as they came, in the order of writing: those of the last days are counted without a read of the whole history. `Reason` is
-- the code alone.

CREATE TABLE IF NOT EXISTS decision_arrivals
(
    `WrittenAt` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `Target` LowCardinality(String),
    `TargetId` String CODEC(ZSTD(1)),
    `Rule` LowCardinality(String),
    `Scorer` LowCardinality(String),
    `Status` LowCardinality(String),
    `Reason` LowCardinality(String),
    `Weight` Nullable(Float64),
    `EvidenceUntil` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Version` UInt64
)
ENGINE = MergeTree
PARTITION BY toDate(WrittenAt)
ORDER BY (WrittenAt, TraceId)
TTL toDateTime(WrittenAt) + toIntervalDay(30)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS decision_arrivals_of_decisions TO decision_arrivals AS
SELECT
    WrittenAt, Tenant, TraceId, Target, TargetId, Rule, Scorer, Status, substringIndex(Reason, ':', 1) AS Reason, Weight,
    EvidenceUntil, Version
FROM decisions;
