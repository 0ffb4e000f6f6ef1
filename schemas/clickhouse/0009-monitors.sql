-- What monitors read, keep and tell. Times are of the store's own clock.

-- Whose run a decision is about, so that failures of a scorer can be told apart by agent and environment.
ALTER TABLE decisions
    ADD COLUMN IF NOT EXISTS `Agent` LowCardinality(String),
    ADD COLUMN IF NOT EXISTS `Environment` LowCardinality(String);

-- Every score row as it came, in the order in which it came: a re-score replaces the first score in `scores`, not here.
CREATE TABLE IF NOT EXISTS score_arrivals
(
    `WrittenAt` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `ScoreId` UUID,
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `Scorer` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    `ServiceName` LowCardinality(String),
    `ServiceVersion` LowCardinality(String),
    `Model` LowCardinality(String),
    `Score` Float64,
    `HigherIsBetter` Nullable(Bool),
    `ScoreMin` Nullable(Float64),
    `ScoreMax` Nullable(Float64),
    `Stratum` LowCardinality(String),
    `Source` LowCardinality(String),
    `Revision` UInt32,
    -- From the last span of the evidence to the score.
    `DelayMs` Int64 CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toDate(WrittenAt)
ORDER BY (WrittenAt, ScoreId)
TTL toDateTime(WrittenAt) + toIntervalDay(30)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS score_arrivals_of_scores TO score_arrivals AS
SELECT
    WrittenAt, ScoreId, Tenant, TraceId, Scorer, Fingerprint, Agent, Environment, ServiceName, ServiceVersion, Model,
    Score, HigherIsBetter, ScoreMin, ScoreMax, Stratum, Source, Revision,
    toUnixTimestamp64Milli(toDateTime64(ScoredAt, 3, 'UTC')) - toUnixTimestamp64Milli(EvidenceUntil) AS DelayMs
FROM scores
WHERE IsDeleted = 0;

-- How the first attempts on uniformly sampled targets ended, in the order in which that was decided.
CREATE TABLE IF NOT EXISTS outcome_arrivals
(
    `WrittenAt` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `TargetId` String CODEC(ZSTD(1)),
    `Rule` LowCardinality(String),
    `Scorer` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Status` LowCardinality(String)
)
ENGINE = MergeTree
PARTITION BY toDate(WrittenAt)
ORDER BY (WrittenAt, TraceId)
TTL toDateTime(WrittenAt) + toIntervalDay(30)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS outcome_arrivals_of_decisions TO outcome_arrivals AS
SELECT WrittenAt, Tenant, TraceId, TargetId, Rule, Scorer, Fingerprint, Agent, Environment, Status
FROM decisions
WHERE Status IN ('scored', 'failed', 'deferred') AND Scorer != '*' AND Stratum = 'uniform' AND Revision <= 1
    AND NOT startsWith(Reason, 'in_progress');

-- What a series received in one closed bucket of time. Directed scores (0 worst, 1 best) in thousandths; what was not
-- folded is counted by the reason.
CREATE TABLE IF NOT EXISTS monitor_buckets
(
    `IntervalMs` UInt32,
    `Bucket` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Tenant` LowCardinality(String),
    `Scorer` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Values` Array(UInt16) CODEC(ZSTD(1)),
    `Counts` Array(UInt32) CODEC(ZSTD(1)),
    `Scored` UInt32,
    `Failed` UInt32,
    `Deferred` UInt32,
    `Refused` UInt32,
    `Repeated` UInt32,
    `Rescored` UInt32,
    `Late` UInt32,
    `NotUniform` UInt32,
    `NotLive` UInt32,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(Bucket)
ORDER BY (IntervalMs, Bucket, Tenant, Scorer, Fingerprint, Agent, Environment)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000;

-- The latest bucket of each interval that is closed, folded, and told of.
CREATE TABLE IF NOT EXISTS monitor_progress
(
    `IntervalMs` UInt32,
    `Bucket` DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(Bucket)
ORDER BY IntervalMs;

-- States of detectors after a bucket. The row without a scorer is written last: then all of that rule are there.
CREATE TABLE IF NOT EXISTS monitor_checkpoints
(
    `RuleKey` String,
    `Bucket` DateTime64(3, 'UTC'),
    `Tenant` LowCardinality(String),
    `Scorer` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    `State` String CODEC(ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(WrittenAt)
ORDER BY (RuleKey, Bucket, Tenant, Scorer, Fingerprint, Agent, Environment)
TTL toDateTime(WrittenAt) + toIntervalDay(3)
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 1000;

-- Where each rule stands on each series, for people.
CREATE TABLE IF NOT EXISTS monitor_status
(
    `RuleKey` String,
    `Tenant` LowCardinality(String),
    `Scorer` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Bucket` DateTime64(3, 'UTC'),
    `Status` String CODEC(ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(Bucket)
ORDER BY (RuleKey, Tenant, Scorer, Fingerprint, Agent, Environment)
TTL toDateTime(WrittenAt) + toIntervalDay(400);

-- Beginnings and ends of incidents: what channels are told, once each.
CREATE TABLE IF NOT EXISTS alert_events
(
    `EventId` UUID,
    `IncidentId` UUID,
    `Tenant` LowCardinality(String),
    `Status` LowCardinality(String),
    `Alert` LowCardinality(String),
    `StartsAt` DateTime64(3, 'UTC'),
    `EndsAt` Nullable(DateTime64(3, 'UTC')),
    -- The whole event as JSON.
    `Event` String CODEC(ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    INDEX by_written_at WrittenAt TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY EventId
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS non_replicated_deduplication_window = 1000;

-- "This is the new normal."
CREATE TABLE IF NOT EXISTS alert_acks
(
    `IncidentId` UUID,
    `AckedAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY IncidentId
TTL toDateTime(WrittenAt) + toIntervalDay(400);

-- Of what nobody is to be told until when: an alert's name or an incident's id. The newest row of each holds.
CREATE TABLE IF NOT EXISTS alert_mutes
(
    `Tenant` LowCardinality(String),
    `Subject` String,
    `MutedUntil` DateTime64(3, 'UTC'),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(WrittenAt)
ORDER BY (Tenant, Subject)
TTL toDateTime(WrittenAt) + toIntervalDay(400);

-- When which version of an agent's service was first seen in a live score, or was announced.
CREATE TABLE IF NOT EXISTS deploy_markers
(
    `Tenant` LowCardinality(String),
    `ServiceName` LowCardinality(String),
    `Agent` LowCardinality(String),
    `ServiceVersion` String,
    `Origin` LowCardinality(String),
    `FirstSeen` SimpleAggregateFunction(min, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (Tenant, ServiceName, Agent, ServiceVersion, Origin);

CREATE MATERIALIZED VIEW IF NOT EXISTS deploy_markers_of_scores TO deploy_markers AS
SELECT Tenant, ServiceName, Agent, ServiceVersion, 'seen' AS Origin, min(scores.WrittenAt) AS FirstSeen
FROM scores
WHERE Source = 'live' AND ServiceVersion != '' AND IsDeleted = 0
GROUP BY Tenant, ServiceName, Agent, ServiceVersion;
