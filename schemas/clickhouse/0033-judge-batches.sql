-- Batches of questions to judges: one row for each chunk of a job. The status only rises (`Version`): intended, sending, created,
-- imported, done. So a chunk that was intended is found again, and no batch of it is made twice.

CREATE TABLE IF NOT EXISTS judge_batches
(
    `Chunk` String,
    `JobId` String,
    `Provider` LowCardinality(String),
    `Status` LowCardinality(String),
    `Requests` UInt32,
    `IntendedAt` DateTime64(3, 'UTC'),
    -- Names of the provider.
    `BatchId` String,
    `InputFileId` String,
    `OutputFileId` String,
    `ErrorFileId` String,
    -- '' without a failure of the batch.
    `Error` String,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64
)
ENGINE = ReplacingMergeTree(Version)
ORDER BY Chunk
TTL toDateTime(WrittenAt) + toIntervalDay(30)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000;

-- Questions and replies, one current row for each question. `CustomId` is a hash of the score id, the evidence and the question.
CREATE TABLE IF NOT EXISTS judge_batch_requests
(
    `CustomId` String,
    `Chunk` String CODEC(ZSTD(1)),
    `JobId` String CODEC(ZSTD(1)),
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `ScoreId` String CODEC(ZSTD(1)),
    `Rule` LowCardinality(String),
    `Model` LowCardinality(String),
    -- waiting, replied, lost.
    `Status` LowCardinality(String),
    `Try` UInt32,
    -- '' once the batch has ended.
    `Body` String CODEC(ZSTD(1)),
    -- Status and body of the reply; for a lost question 0 and the reason.
    `ReplyStatus` UInt16,
    `Reply` String CODEC(ZSTD(1)),
    `EstimatedUsd` Nullable(Float64),
    `CostUsd` Nullable(Float64),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64
)
ENGINE = ReplacingMergeTree(Version)
ORDER BY CustomId
TTL toDateTime(WrittenAt) + toIntervalDay(30)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 1000;
