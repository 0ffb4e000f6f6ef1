-- Numbers of current decisions by the hour of their evidence, for the coverage. A verdict on a whole rule counts for each scorer of the
-- rule. An hour is computed from the decisions and replaced as a whole, never added to. A row whose decisions are gone is replaced by a
-- deleted one. `Version` rises with each computation of an hour. `Reason` is the code alone.

CREATE TABLE IF NOT EXISTS decision_hours
(
    `Tenant` LowCardinality(String),
    `Bucket` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Rule` LowCardinality(String),
    `Scorer` LowCardinality(String),
    -- '' when the service is not known.
    `ServiceName` LowCardinality(String),
    `Status` LowCardinality(String),
    `Reason` LowCardinality(String),
    `Decisions` UInt64,
    `Weight` Float64,
    -- Decisions without a weight.
    `Unweighted` UInt64,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64,
    `IsDeleted` UInt8
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
PARTITION BY toYYYYMM(Bucket)
ORDER BY (Tenant, Bucket, Rule, Scorer, ServiceName, Status, Reason)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 0;
