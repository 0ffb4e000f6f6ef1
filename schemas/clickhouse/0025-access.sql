-- Writes through the API, one row each: who asked for what. Subjects are `kind:id`; ids of traces, sessions, users and tenants are
-- HMACs as in `tombstones`, so that a purge need not touch them.
CREATE TABLE IF NOT EXISTS audit
(
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    -- Tenant of the token; '' for a token of all tenants, and without tokens.
    `Tenant` LowCardinality(String),
    -- Name of the token; '' without tokens.
    `Token` LowCardinality(String),
    `Action` LowCardinality(String),
    `Subjects` Array(String) CODEC(ZSTD(1))
)
ENGINE = MergeTree
ORDER BY WrittenAt
TTL toDateTime(WrittenAt) + toIntervalDay(400);

-- Secret that signs the cookies of browsers. The first row counts. An insert with a known token adds nothing, so that processes that
-- start together get one key.
CREATE TABLE IF NOT EXISTS cookie_keys
(
    `Key` String,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY WrittenAt
SETTINGS non_replicated_deduplication_window = 100;
