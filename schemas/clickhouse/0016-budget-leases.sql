-- Kind: 'call' for the real cost of a judge call, 'lease' for money that a process leases for calls, uses or gives back; '' for
-- reservations and settlements that were written before. LeaseId: the entries of one process, rule and day. CallId is the id of the
-- entry: an entry that was written twice counts once. Entries of calls carry the tenant.

ALTER TABLE spend
    ADD COLUMN IF NOT EXISTS `Kind` LowCardinality(String),
    ADD COLUMN IF NOT EXISTS `LeaseId` String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Tenant` LowCardinality(String);
