-- Scores of sessions are found by the session: they have no trace id. New parts have the index.
ALTER TABLE scores
    ADD INDEX IF NOT EXISTS by_session_id SessionId TYPE bloom_filter(0.001) GRANULARITY 1;
