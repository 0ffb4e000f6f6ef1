-- Rows that show that the store takes inserts again, after it refused one.

CREATE TABLE IF NOT EXISTS write_probe
(
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY WrittenAt
TTL toDateTime(WrittenAt) + INTERVAL 1 DAY;
