-- Which judge call an entry is about: its reservation and its settlement have the same id, so calls under way can be told from
-- those that ended. Entries that were written before have none.

ALTER TABLE spend
    ADD COLUMN IF NOT EXISTS `CallId` String CODEC(ZSTD(1));
