-- Erasure. Hash: HMAC-SHA256 of kind, tenant and id, in hex, with the key that KeyId names. A trace with a tombstone is never stored
-- or scored again. The tombstone of a session, user or tenant says that it was purged, or that rows of the session were deleted.

CREATE TABLE IF NOT EXISTS tombstones
(
    `Tenant` LowCardinality(String),
    -- trace, session, user, tenant
    `Kind` LowCardinality(String),
    `Hash` String CODEC(ZSTD(1)),
    `KeyId` LowCardinality(String),
    `JobId` String,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    INDEX by_written_at WrittenAt TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(WrittenAt)
ORDER BY (Tenant, Kind, Hash);

-- What a purge deletes, until it has ended: ids of traces, sessions, scores and dead letters.
CREATE TABLE IF NOT EXISTS purge_items
(
    `JobId` String,
    -- trace, session, score, letter, tenant
    `Kind` LowCardinality(String),
    `Tenant` String,
    `Id` String CODEC(ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree
ORDER BY (JobId, Kind, Tenant, Id)
TTL toDateTime(WrittenAt) + toIntervalDay(30);
