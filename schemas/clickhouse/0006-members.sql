-- Which scorer processes live on this database: one row a beat, stamped by the store's own clock. Without a window of
-- deduplication, for every beat is the same row but for its time.

CREATE TABLE IF NOT EXISTS scorer_members
(
    `Member` String,
    `Leaving` UInt8,
    `BeatAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(BeatAt)
ORDER BY Member
TTL toDateTime(BeatAt) + toIntervalDay(1);
