-- Who was told of which alert. Times are of the store's own clock.

-- What became of each event in each channel. A row of a later round wins, and within a round the last word.
CREATE TABLE IF NOT EXISTS alert_deliveries
(
    `Channel` LowCardinality(String),
    `EventId` UUID,
    `IncidentId` UUID,
    `Tenant` LowCardinality(String),
    -- The id of the message that it goes out with.
    `MessageId` UUID,
    -- planned, delivered, dead, muted
    `State` LowCardinality(String),
    `Reason` String CODEC(ZSTD(1)),
    `PlannedAt` DateTime64(3, 'UTC'),
    `Round` UInt32,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64
)
ENGINE = ReplacingMergeTree(Version)
ORDER BY (Channel, EventId)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS non_replicated_deduplication_window = 1000;

-- Which processes tell alerts: each channel is served by one of them. As in scorer_members.
CREATE TABLE IF NOT EXISTS alert_members
(
    `Member` String,
    `Leaving` UInt8,
    `BeatAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(BeatAt)
ORDER BY Member
TTL toDateTime(BeatAt) + toIntervalDay(1);
