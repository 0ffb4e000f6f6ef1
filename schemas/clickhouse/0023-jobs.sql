-- Work of minutes or hours: repairs, erasures, histories. One current row for each job. Only the process that has the lease (the duty
-- `job <id>`) writes a row, after the first one. `Version` rises with each lease and each write of it, so a row of a former holder
-- never wins. Spec, Checkpoint and Report are JSON.

CREATE TABLE IF NOT EXISTS jobs
(
    `Id` String,
    `Kind` LowCardinality(String),
    `Tenant` LowCardinality(String),
    `Spec` String CODEC(ZSTD(1)),
    -- queued, running, done, failed, cancelled
    `Status` LowCardinality(String),
    `Owner` String,
    `Checkpoint` String CODEC(ZSTD(1)),
    `Report` String CODEC(ZSTD(1)),
    `CostUsd` Float64,
    `Error` String CODEC(ZSTD(1)),
    `CreatedAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `StartedAt` Nullable(DateTime64(3, 'UTC')),
    `FinishedAt` Nullable(DateTime64(3, 'UTC')),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64
)
ENGINE = ReplacingMergeTree(Version)
ORDER BY Id
TTL toDateTime(WrittenAt) + toIntervalDay(400);

-- Words on a job by processes without its lease: pause, resume and cancel of people, and `left` with the reason of a process that
-- cannot run it. Without a window of deduplication, because a job may be paused twice.
CREATE TABLE IF NOT EXISTS job_events
(
    `JobId` String,
    `Event` LowCardinality(String),
    `Detail` String CODEC(ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY (JobId, WrittenAt)
TTL toDateTime(WrittenAt) + toIntervalDay(400);
