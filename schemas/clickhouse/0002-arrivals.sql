-- What is known of each trace without reading its spans. `Signals` has names of its spans and log records: `scope:` and the
-- instrumentation scope, `key:` and `event:` with the head of an attribute key or event name. Whether they mean an agent is
-- decided by each reader, so that a convention that is added later finds them.
-- Every inserted block adds one row for each trace in it to
-- `trace_arrivals`; the other tables here are filled from that row. Times of spans are Unix nanoseconds in an Int64.

CREATE TABLE IF NOT EXISTS trace_arrivals
(
    `ArrivedAt` DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `SpanIds` Array(String) CODEC(ZSTD(1)),
    `ParentIds` Array(String) CODEC(ZSTD(1)),
    `FirstStart` Int64 CODEC(ZSTD(1)),
    `LastEnd` Int64 CODEC(ZSTD(1)),
    `Signals` Array(LowCardinality(String)),
    `RootSeen` UInt8,
    `ErrorSeen` UInt8
)
ENGINE = MergeTree
PARTITION BY toDate(ArrivedAt)
ORDER BY (ArrivedAt, Tenant, TraceId)
TTL toDateTime(ArrivedAt) + toIntervalDay(3)
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

-- For look-ups by id. Only idempotent aggregates: a retried insert may be counted twice.
CREATE TABLE IF NOT EXISTS trace_activity
(
    `ArrivedWeek` Date,
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `FirstArrival` SimpleAggregateFunction(min, DateTime64(9)) CODEC(ZSTD(1)),
    `LastArrival` SimpleAggregateFunction(max, DateTime64(9)) CODEC(ZSTD(1)),
    `FirstStart` SimpleAggregateFunction(min, Int64) CODEC(ZSTD(1)),
    `LastEnd` SimpleAggregateFunction(max, Int64) CODEC(ZSTD(1)),
    `Signals` SimpleAggregateFunction(groupUniqArrayArray, Array(String)) CODEC(ZSTD(1)),
    `RootSeen` SimpleAggregateFunction(max, UInt8),
    `ErrorSeen` SimpleAggregateFunction(max, UInt8)
)
ENGINE = AggregatingMergeTree
PARTITION BY ArrivedWeek
ORDER BY (Tenant, TraceId)
TTL ArrivedWeek + toIntervalDay(37)
SETTINGS index_granularity = 256, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

-- For ranges of start times (histories and lists), which `trace_activity` could only answer by reading all of it.
CREATE TABLE IF NOT EXISTS trace_starts
(
    `ArrivedWeek` Date,
    `FirstStart` Int64 CODEC(Delta(8), ZSTD(1)),
    `TraceId` String CODEC(ZSTD(1)),
    `Tenant` LowCardinality(String)
)
ENGINE = MergeTree
PARTITION BY ArrivedWeek
ORDER BY (FirstStart, TraceId, Tenant)
TTL ArrivedWeek + toIntervalDay(37)
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

-- Spans that spanscore itself emits are kept, but are no activity: they would re-open what they judge. A duration above
-- the signed range is a negative one that wrapped (its span ended before it started).
CREATE MATERIALIZED VIEW IF NOT EXISTS trace_arrivals_of_spans TO trace_arrivals AS
SELECT
    max(otel_traces.ArrivedAt) AS ArrivedAt,
    Tenant,
    TraceId,
    groupUniqArray(SpanId) AS SpanIds,
    groupUniqArrayIf(ParentSpanId, ParentSpanId != '') AS ParentIds,
    min(toUnixTimestamp64Nano(Timestamp)) AS FirstStart,
    max(toInt64(least(
        toInt128(toUnixTimestamp64Nano(Timestamp)) + if(Duration < 9223372036854775808, Duration, 0),
        toInt128(9223372036854775807)))) AS LastEnd,
    max(ParentSpanId = '') AS RootSeen,
    groupUniqArrayArray(arrayDistinct(arrayConcat(
        [concat('scope:', substring(ScopeName, 1, 200))],
        arrayMap(name -> concat('key:', substring(name, 1, if(position(name, '.') = 0, 32, least(position(name, '.'), 32)))), mapKeys(SpanAttributes)),
        arrayMap(name -> concat('event:', substring(name, 1, if(position(name, '.') = 0, 32, least(position(name, '.'), 32)))), `Events.Name`)))) AS Signals,
    max(StatusCode = 'Error') AS ErrorSeen
FROM otel_traces
WHERE TraceId != '' AND ScopeName != 'spanscore'
GROUP BY Tenant, TraceId;

-- A log record without a time of its own counts from its arrival.
CREATE MATERIALIZED VIEW IF NOT EXISTS trace_arrivals_of_logs TO trace_arrivals AS
SELECT
    max(otel_logs.ArrivedAt) AS ArrivedAt,
    Tenant,
    TraceId,
    CAST([], 'Array(String)') AS SpanIds,
    CAST([], 'Array(String)') AS ParentIds,
    min(toUnixTimestamp64Nano(if(toUnixTimestamp64Nano(Timestamp) > 0, Timestamp, otel_logs.ArrivedAt))) AS FirstStart,
    max(toUnixTimestamp64Nano(Timestamp)) AS LastEnd,
    toUInt8(0) AS RootSeen,
    groupUniqArrayArray(arrayDistinct(arrayConcat(
        [concat('scope:', substring(ScopeName, 1, 200))],
        arrayMap(name -> concat('key:', substring(name, 1, if(position(name, '.') = 0, 32, least(position(name, '.'), 32)))), mapKeys(LogAttributes)),
        arrayMap(name -> concat('event:', substring(name, 1, if(position(name, '.') = 0, 32, least(position(name, '.'), 32)))), [EventName])))) AS Signals,
    toUInt8(0) AS ErrorSeen
FROM otel_logs
WHERE TraceId != '' AND ScopeName != 'spanscore'
GROUP BY Tenant, TraceId;

CREATE MATERIALIZED VIEW IF NOT EXISTS trace_activity_of_arrivals TO trace_activity AS
SELECT
    toMonday(ArrivedAt) AS ArrivedWeek,
    Tenant,
    TraceId,
    ArrivedAt AS FirstArrival,
    ArrivedAt AS LastArrival,
    FirstStart,
    LastEnd,
    Signals,
    RootSeen,
    ErrorSeen
FROM trace_arrivals;

CREATE MATERIALIZED VIEW IF NOT EXISTS trace_starts_of_arrivals TO trace_starts AS
SELECT
    toMonday(ArrivedAt) AS ArrivedWeek,
    FirstStart,
    TraceId,
    Tenant
FROM trace_arrivals;

-- Since when each signal of a convention is known here. Live scoring leaves out traces that came before; the first moment stays.
CREATE TABLE IF NOT EXISTS agent_signals
(
    `Signal` String,
    `KnownFrom` SimpleAggregateFunction(min, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY Signal
SETTINGS non_replicated_deduplication_window = 1000;
