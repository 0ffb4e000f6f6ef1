-- Session of a question about a session, which has no trace id: a purge of the session, or of one of its turns, finds its questions by it.
-- A question that is being sent has the status `claimed`.
ALTER TABLE judge_batch_requests ADD COLUMN IF NOT EXISTS `SessionId` String CODEC(ZSTD(1)) AFTER `TraceId`;
