-- One current row for each (tenant, trace, target, rule, scorer): why it was scored, or was not. `Version` is built from
-- the evidence that the decision saw, so that an owner with older evidence can never win. Times are of the scorer but
-- `WrittenAt`, the store's own, by which rows expire.

CREATE TABLE IF NOT EXISTS decisions
(
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `Target` LowCardinality(String),
    `TargetId` String CODEC(ZSTD(1)),
    `Rule` LowCardinality(String),
    `Scorer` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `Status` LowCardinality(String),
    `Reason` String CODEC(ZSTD(1)),
    `Attempts` UInt32,
    `NextAttemptAt` Nullable(DateTime64(3, 'UTC')),
    `InclusionProbability` Float64,
    `Weight` Nullable(Float64),
    `Stratum` LowCardinality(String),
    `Revision` UInt32,
    `EvidenceUntil` DateTime64(3, 'UTC'),
    `EvidenceHash` String CODEC(ZSTD(1)),
    `CostUsd` Nullable(Float64),
    `DecidedAt` DateTime64(3, 'UTC'),
    `Version` UInt64,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(Version)
ORDER BY (Tenant, TraceId, Target, TargetId, Rule, Scorer)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000;
