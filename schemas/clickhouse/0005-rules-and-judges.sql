-- Which rule was in force from when on. The first moment of a version stays, whoever records it again.

CREATE TABLE IF NOT EXISTS rule_versions
(
    `Rule` String,
    `Version` String,
    `ActiveFrom` SimpleAggregateFunction(min, DateTime64(3, 'UTC')),
    `Probability` SimpleAggregateFunction(any, Float64),
    `Definition` SimpleAggregateFunction(any, String)
)
ENGINE = AggregatingMergeTree
ORDER BY (Rule, Version)
SETTINGS non_replicated_deduplication_window = 1000;

-- Every judge call, for audit. Prompts quote spans, so they go when the spans go.
CREATE TABLE IF NOT EXISTS judge_calls
(
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `ScoreId` String CODEC(ZSTD(1)),
    `Scorer` LowCardinality(String),
    `Step` LowCardinality(String),
    `Model` LowCardinality(String),
    `Status` LowCardinality(String),
    `Prompt` String CODEC(ZSTD(1)),
    `Reply` String CODEC(ZSTD(1)),
    `Error` String CODEC(ZSTD(1)),
    `InputTokens` Nullable(UInt64),
    `OutputTokens` Nullable(UInt64),
    `CostUsd` Nullable(Float64),
    `DurationMs` Float64,
    `CalledAt` DateTime64(3, 'UTC'),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
PARTITION BY toDate(WrittenAt)
ORDER BY (Tenant, TraceId, CalledAt)
TTL toDateTime(WrittenAt) + toIntervalDay(30)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 1000;

-- Append-only: what is reserved before a call and what settles it after (which may be negative).
CREATE TABLE IF NOT EXISTS spend
(
    `Rule` LowCardinality(String),
    `SpentAt` DateTime64(3, 'UTC'),
    `ScoreId` String CODEC(ZSTD(1)),
    `CostUsd` Float64,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(WrittenAt)
ORDER BY (Rule, SpentAt)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 1000;
