-- Records that could not be taken in, with their bytes (in base64: they are anything) and the reason. The newest attempt
-- wins; a dropped one stays dropped.

CREATE TABLE IF NOT EXISTS dead_letters
(
    `Id` UUID,
    `Source` LowCardinality(String),
    `Topic` LowCardinality(String),
    `Partition` Int32,
    `FirstOffset` Int64,
    `LastOffset` Int64,
    `Tenant` LowCardinality(String),
    `Signal` LowCardinality(String),
    `Encoding` LowCardinality(String),
    `Body` String CODEC(ZSTD(1)),
    `Code` LowCardinality(String),
    `Reason` String CODEC(ZSTD(1)),
    `Attempts` UInt32,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64,
    `IsDeleted` UInt8
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
ORDER BY Id
TTL toDateTime(WrittenAt) + toIntervalDay(30)
SETTINGS non_replicated_deduplication_window = 1000;
