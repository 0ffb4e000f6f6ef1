-- Work that one process at a time does, for example the delivery of one exporter. The member that joined first has the duty. A
-- member beats every few seconds; `JoinedAt` and `BeatAt` are times of the store's own clock. Without a window of
-- deduplication, because the beats of a member differ only in their time.
CREATE TABLE IF NOT EXISTS duty_members
(
    `Duty` LowCardinality(String),
    `Member` String,
    `JoinedAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Leaving` UInt8,
    `BeatAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(BeatAt)
ORDER BY (Duty, Member)
TTL toDateTime(BeatAt) + toIntervalDay(1);

-- How far an exporter is: every score written from `SeenAt` until `DoneUntil` is delivered or a dead letter. Scores written
-- before `SeenAt` are not sent.
CREATE TABLE IF NOT EXISTS export_progress
(
    `Exporter` LowCardinality(String),
    `SeenAt` SimpleAggregateFunction(min, DateTime64(3, 'UTC')),
    `DoneUntil` SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY Exporter
SETTINGS non_replicated_deduplication_window = 1000;

-- Dead letters that are to be sent again. A row of a later round wins; a deleted row is finished.
CREATE TABLE IF NOT EXISTS export_replays
(
    `Exporter` LowCardinality(String),
    `ScoreId` UUID,
    `Revision` UInt32,
    `Round` UInt32,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64,
    `IsDeleted` UInt8
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
ORDER BY (Exporter, ScoreId, Revision)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS non_replicated_deduplication_window = 1000;

-- delivered, dead
ALTER TABLE exports
    ADD COLUMN IF NOT EXISTS `Outcome` LowCardinality(String) DEFAULT 'delivered';
