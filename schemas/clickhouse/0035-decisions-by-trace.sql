-- The decisions of a trace are looked up before it is scored. Most traces have none yet: without this index, such a look-up reads rows of
-- every part.
ALTER TABLE decisions
    ADD INDEX IF NOT EXISTS by_trace_id TraceId TYPE bloom_filter(0.0001) GRANULARITY 1;
ALTER TABLE decisions
    MATERIALIZE INDEX by_trace_id;
