-- Rules for processes that work on the same trace at the same time.

-- Work that a member can do: scorers of its rules. Members that wrote no list can do all work.
ALTER TABLE scorer_members
    ADD COLUMN IF NOT EXISTS `Cells` Array(String) DEFAULT ['*'];

-- Deferred decisions are found without a scan of the table.
ALTER TABLE decisions
    ADD INDEX IF NOT EXISTS by_status Status TYPE set(8) GRANULARITY 1;
ALTER TABLE decisions
    MATERIALIZE INDEX by_status;

-- Version of a score row, computed by the store. Bits from the top: 40 of `EvidenceUntil` in milliseconds since 2020, 2 of the
-- source (for the same evidence, live replaces a backfill), 7 of the revision, 1 for a tombstone, and 14 that are greater the
-- sooner after its evidence the row was written. So of two rows of the same evidence and revision the first one stays, whatever
-- a process that was stalled writes later. The last bits are logarithmic: 9 ms apart 10 s after the evidence, 17 days at most.
ALTER TABLE scores
    MODIFY COLUMN `Version` UInt64 DEFAULT
        bitShiftLeft(least(toUInt64(greatest(toUnixTimestamp64Milli(EvidenceUntil) - 1577836800000, 0)), 1099511627775), 24)
        + bitShiftLeft(toUInt64(transform(toString(Source), ['api', 'live', 'human'], [1, 2, 3], 0)), 22)
        + bitShiftLeft(toUInt64(least(Revision, 127)), 15)
        + bitShiftLeft(toUInt64(IsDeleted), 14)
        + toUInt64(16383 - least(16383, floor(800 * log2(1
            + greatest(0, toUnixTimestamp64Milli(now64(3)) - toUnixTimestamp64Milli(EvidenceUntil)) / 1000))));
