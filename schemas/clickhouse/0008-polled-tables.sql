-- How far tables of others, which have no arrival time, have been searched for new rows.

CREATE TABLE IF NOT EXISTS polled_tables
(
    `Source` String,
    -- What ended before, and was there by then, is in `trace_arrivals`.
    `PolledUntil` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1))
)
ENGINE = ReplacingMergeTree(PolledUntil)
ORDER BY Source;
