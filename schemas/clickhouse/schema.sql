-- Tables of a store, in the order of a span's way: received, decided, judged, scored, exported, monitored, told. The store keeps the hash
-- of these statements in its view `schema_version`: another text is another schema. Times to live are those of the default retention;
-- `src/store/schema/table-settings.ts` changes them.

-- Spans, with the column names and types of the OpenTelemetry Collector's ClickHouse exporter, then columns of ours. Partitioned and
-- expired by arrival only: a span's own time is data of the sender, any value is kept. `Facts`: the few short attributes that rules
-- and runs need of a trace that is not read, so that a filter never reads content.
-- `{facts}` is made from `src/conventions/fact-keys.ts`.
CREATE TABLE IF NOT EXISTS otel_traces
(
    `Timestamp` DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    `TraceId` String CODEC(ZSTD(1)),
    `SpanId` String CODEC(ZSTD(1)),
    `ParentSpanId` String CODEC(ZSTD(1)),
    `TraceState` String CODEC(ZSTD(1)),
    `SpanName` LowCardinality(String) CODEC(ZSTD(1)),
    `SpanKind` LowCardinality(String) CODEC(ZSTD(1)),
    `ServiceName` LowCardinality(String) CODEC(ZSTD(1)),
    `ResourceAttributes` Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    `ScopeName` String CODEC(ZSTD(1)),
    `ScopeVersion` String CODEC(ZSTD(1)),
    `SpanAttributes` Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    `Duration` UInt64 CODEC(ZSTD(1)),
    `StatusCode` LowCardinality(String) CODEC(ZSTD(1)),
    `StatusMessage` String CODEC(ZSTD(1)),
    `Events.Timestamp` Array(DateTime64(9)) CODEC(ZSTD(1)),
    `Events.Name` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    `Events.Attributes` Array(Map(LowCardinality(String), String)) CODEC(ZSTD(1)),
    `Links.TraceId` Array(String) CODEC(ZSTD(1)),
    `Links.SpanId` Array(String) CODEC(ZSTD(1)),
    `Links.TraceState` Array(String) CODEC(ZSTD(1)),
    `Links.Attributes` Array(Map(LowCardinality(String), String)) CODEC(ZSTD(1)),
    `Tenant` LowCardinality(String) CODEC(ZSTD(1)),
    `DroppedAttributesCount` UInt32 CODEC(ZSTD(1)),
    `Truncated` Array(String) CODEC(ZSTD(1)),
    `ArrivedAt` DateTime64(9) DEFAULT now64(9) CODEC(Delta(8), ZSTD(1)),
    `Facts` {facts}
)
ENGINE = MergeTree
PARTITION BY toDate(ArrivedAt)
ORDER BY (Tenant, TraceId, SpanId)
TTL toDateTime(ArrivedAt) + toIntervalDay(30)
SETTINGS index_granularity = 256, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

-- GenAI log records, like spans.
CREATE TABLE IF NOT EXISTS otel_logs
(
    `Timestamp` DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    `TraceId` String CODEC(ZSTD(1)),
    `SpanId` String CODEC(ZSTD(1)),
    `TraceFlags` UInt8,
    `SeverityText` LowCardinality(String) CODEC(ZSTD(1)),
    `SeverityNumber` UInt8,
    `ServiceName` LowCardinality(String) CODEC(ZSTD(1)),
    `Body` String CODEC(ZSTD(1)),
    `ResourceSchemaUrl` LowCardinality(String) CODEC(ZSTD(1)),
    `ResourceAttributes` Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    `ScopeSchemaUrl` LowCardinality(String) CODEC(ZSTD(1)),
    `ScopeName` String CODEC(ZSTD(1)),
    `ScopeVersion` LowCardinality(String) CODEC(ZSTD(1)),
    `ScopeAttributes` Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    `LogAttributes` Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    `EventName` String CODEC(ZSTD(1)),
    `Tenant` LowCardinality(String) CODEC(ZSTD(1)),
    `Truncated` Array(String) CODEC(ZSTD(1)),
    `ArrivedAt` DateTime64(9) DEFAULT now64(9) CODEC(Delta(8), ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toDate(ArrivedAt)
ORDER BY (Tenant, TraceId, SpanId)
TTL toDateTime(ArrivedAt) + toIntervalDay(30)
SETTINGS index_granularity = 256, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

-- Records that could not be taken in, and scores that could not be delivered, with their bytes (in base64: they are anything) and
-- the reason. The newest attempt wins; a dropped one stays dropped.
CREATE TABLE IF NOT EXISTS dead_letters
(
    `Id` UUID,
    `Source` LowCardinality(String),
    `Topic` LowCardinality(String),
    `Partition` Int32,
    `FirstOffset` Int64,
    `LastOffset` Int64,
    `Tenant` LowCardinality(String),
    `Signal` LowCardinality(String),
    `Encoding` LowCardinality(String),
    `Body` String CODEC(ZSTD(1)),
    `Code` LowCardinality(String),
    `Reason` String CODEC(ZSTD(1)),
    `Attempts` UInt32,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64,
    `IsDeleted` UInt8
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
ORDER BY Id
TTL toDateTime(WrittenAt) + toIntervalDay(30)
SETTINGS non_replicated_deduplication_window = 1000;

-- Every inserted block adds one row for each trace in it; the other tables of traces are filled from that row. `Signals` has names
-- of its spans and log records: `scope:` and the instrumentation scope, `key:` and `event:` with the head of an attribute key or
-- event name, and `word:agent` when any of them has a word of agents. Whether they mean an agent is decided by each reader, so that
-- a convention that is added later finds them. Times of spans are Unix nanoseconds in an Int64.
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
TTL toDateTime(ArrivedAt) + toIntervalDay(4)
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

-- Arrivals of a trace together, for look-ups by id. Only idempotent aggregates: a retried insert may be counted twice.
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

-- Traces by start, for ranges of times (histories and lists), which `trace_activity` could only answer by reading all of it.
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

-- Spans that spanscore itself emits are kept, but are no activity: they would re-open what they judge. A duration above the signed
-- range is a negative one that wrapped (its span ended before it started).
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
        arrayMap(name -> concat('event:', substring(name, 1, if(position(name, '.') = 0, 32, least(position(name, '.'), 32)))), `Events.Name`),
        if(multiSearchAny(replaceAll(lower(arrayStringConcat(arrayConcat(mapKeys(SpanAttributes), `Events.Name`), '\n')), 'user_agent', ''), ['llm', 'prompt', 'completion', 'tokens', 'agent', 'assistant', 'tool.name', 'tool_name', 'toolname', 'tool.call', 'tool_call', 'toolcall', '.model', '_model', 'model.name', 'model_name', 'modelname', 'model_id', 'modelid', 'messages', 'question', 'answer', 'chat', 'conversation', 'transcript']), ['word:agent'], [])))) AS Signals,
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
        arrayMap(name -> concat('event:', substring(name, 1, if(position(name, '.') = 0, 32, least(position(name, '.'), 32)))), [EventName]),
        if(multiSearchAny(replaceAll(lower(arrayStringConcat(arrayConcat(mapKeys(LogAttributes), [EventName]), '\n')), 'user_agent', ''), ['llm', 'prompt', 'completion', 'tokens', 'agent', 'assistant', 'tool.name', 'tool_name', 'toolname', 'tool.call', 'tool_call', 'toolcall', '.model', '_model', 'model.name', 'model_name', 'modelname', 'model_id', 'modelid', 'messages', 'question', 'answer', 'chat', 'conversation', 'transcript']), ['word:agent'], [])))) AS Signals,
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

-- How far work is, by the store's clock: what was there before `DoneUntil` is done. Kind and name: 'aggregate' and a sum (written rows that
-- are in it), 'export' and an exporter (scores that are delivered, or dead letters), 'monitor' and the milliseconds of an interval (the
-- latest bucket that is closed, folded and told of), 'source' and a table of another program, which has no arrival times (spans that were
-- searched). `SeenAt` is the first moment: scores written before it are not sent to the exporter. A row 'signal' and a signal of a
-- convention has it alone: live scoring leaves out traces that came before the signal was known.
CREATE TABLE IF NOT EXISTS progress
(
    `Kind` LowCardinality(String),
    `Name` String,
    `SeenAt` SimpleAggregateFunction(min, DateTime64(3, 'UTC')) DEFAULT now64(3),
    `DoneUntil` SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (Kind, Name);

-- How far each source of spans is read, as JSON: one row for a tool, one for each file.
CREATE TABLE IF NOT EXISTS source_cursors
(
    `Source` String,
    `Key` String,
    `Cursor` String CODEC(ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(WrittenAt)
ORDER BY (Source, Key);

-- Running processes, one row a beat, stamped by the store's own clock. Duty: '' for a process that scores; else work that one process at
-- a time does, for example the delivery of one exporter: the member that joined first has it. A row of the duty 'probe' shows that the store
-- takes inserts again, after it refused one. Without a window of deduplication, because
-- the beats of a member differ only in their time.
CREATE TABLE IF NOT EXISTS members
(
    `Duty` LowCardinality(String),
    `Member` String,
    `JoinedAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Leaving` UInt8,
    -- Scorers of the rules of a process that scores.
    `Pairs` Array(String),
    `BeatAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(BeatAt)
ORDER BY (Duty, Member)
TTL toDateTime(BeatAt) + toIntervalDay(1);

-- Which rule was in force from when on. The first moment of a version stays, whoever records it again.
CREATE TABLE IF NOT EXISTS rule_versions
(
    `Rule` String,
    `Version` String,
    `ActiveFrom` SimpleAggregateFunction(min, DateTime64(3, 'UTC')),
    `Probability` SimpleAggregateFunction(any, Float64),
    `Definition` SimpleAggregateFunction(any, String)
)
ENGINE = AggregatingMergeTree
ORDER BY (Rule, Version)
SETTINGS non_replicated_deduplication_window = 1000;

-- First targets of each new version that rules score (`sample.always: newVersion`): one stored choice for all processes. Rows of one
-- version are added under a deduplication token made of the number of its rows before, so that of two processes only one adds. A row
-- with Slot 0 says that the version was in use before the rule asked for new versions. Rows stay: a version that was forgotten would
-- be new again.
CREATE TABLE IF NOT EXISTS version_samples
(
    `Tenant` LowCardinality(String),
    `Rule` LowCardinality(String),
    `ServiceName` LowCardinality(String),
    `Agent` LowCardinality(String),
    `ServiceVersion` String,
    `AgentVersion` String,
    -- Position among the first targets, from 1.
    `Slot` UInt32,
    -- Number of first targets that the rule asked for when the version came.
    `Slots` UInt32,
    -- A hash, so that nothing here has to be erased with a trace or a session.
    `TargetHash` String CODEC(ZSTD(1)),
    `ChosenAt` DateTime64(9, 'UTC') DEFAULT now64(9)
)
ENGINE = MergeTree
ORDER BY (Tenant, Rule, ServiceName, Agent, ServiceVersion, AgentVersion, Slot, ChosenAt)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000;

-- One current row for each (tenant, trace, target, rule, scorer): why it was scored, or was not. `Version` is built from the
-- evidence that the decision saw, so that an owner with older evidence can never win. Times are of the scorer but `WrittenAt`, the
-- store's own, by which rows expire. Indexes: a look-up by trace before it is scored (most have no row yet), deferred decisions, and
-- decisions on the evidence of a time.
CREATE TABLE IF NOT EXISTS decisions
(
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `Target` LowCardinality(String),
    `TargetId` String CODEC(ZSTD(1)),
    `Rule` LowCardinality(String),
    `Scorer` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `Status` LowCardinality(String),
    `Reason` String CODEC(ZSTD(1)),
    `Attempts` UInt32,
    `NextAttemptAt` Nullable(DateTime64(3, 'UTC')),
    `InclusionProbability` Float64,
    `Weight` Nullable(Float64),
    `Stratum` LowCardinality(String),
    `Revision` UInt32,
    `EvidenceUntil` DateTime64(3, 'UTC'),
    `EvidenceHash` String CODEC(ZSTD(1)),
    `CostUsd` Nullable(Float64),
    `DecidedAt` DateTime64(3, 'UTC'),
    `Version` UInt64,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    -- True when the run of the decision was read by the form of its values.
    `ReadByShape` Bool DEFAULT false,
    INDEX by_status Status TYPE set(8) GRANULARITY 1,
    INDEX by_evidence_until EvidenceUntil TYPE minmax GRANULARITY 1,
    INDEX by_trace_id TraceId TYPE bloom_filter(0.0001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(Version)
ORDER BY (Tenant, TraceId, Target, TargetId, Rule, Scorer)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000;

-- Decisions as they came, in the order of writing: those of the last days are counted without a read of the whole history, and
-- monitors read how first attempts on uniformly sampled targets ended. `Reason` is the code alone.
CREATE TABLE IF NOT EXISTS decision_arrivals
(
    `WrittenAt` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `Target` LowCardinality(String),
    `TargetId` String CODEC(ZSTD(1)),
    `Rule` LowCardinality(String),
    `Scorer` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Status` LowCardinality(String),
    `Reason` LowCardinality(String),
    `Stratum` LowCardinality(String),
    `Weight` Nullable(Float64),
    `Revision` UInt32,
    `EvidenceUntil` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Version` UInt64
)
ENGINE = MergeTree
PARTITION BY toDate(WrittenAt)
ORDER BY (WrittenAt, TraceId)
TTL toDateTime(WrittenAt) + toIntervalDay(30)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS decision_arrivals_of_decisions TO decision_arrivals AS
SELECT
    WrittenAt, Tenant, TraceId, Target, TargetId, Rule, Scorer, Fingerprint, Agent, Environment, Status,
    substringIndex(Reason, ':', 1) AS Reason, Stratum, Weight, Revision, EvidenceUntil, Version
FROM decisions;

-- Numbers of current decisions by the hour of their evidence, for the coverage and the funnel. A verdict on a whole rule counts for each
-- scorer of the rule. An hour is computed from the decisions and replaced as a whole, never added to. A row whose decisions are gone is
-- replaced by a deleted one. `Version` rises with each computation of an hour. `Reason` is the code alone. A row without a rule has no
-- decisions: it counts the traces of a status and a reason, or of all together, once each.
CREATE TABLE IF NOT EXISTS decision_hours
(
    `Tenant` LowCardinality(String),
    `Bucket` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    -- Hour in which the run began; the last one before 1970 for what is no run of an agent.
    `RunBucket` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Rule` LowCardinality(String),
    `Scorer` LowCardinality(String),
    -- '' when the service is not known.
    `ServiceName` LowCardinality(String),
    -- Name of the agent, else of its service.
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Status` LowCardinality(String),
    `Reason` LowCardinality(String),
    `Decisions` UInt64,
    `Weight` Float64,
    -- Decisions without a weight.
    `Unweighted` UInt64,
    `Traces` UInt64,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64,
    `IsDeleted` UInt8
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
PARTITION BY toYYYYMM(Bucket)
ORDER BY (Tenant, Bucket, RunBucket, Rule, Scorer, ServiceName, Agent, Environment, Status, Reason)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 0;

-- Every judge call, for audit. Prompts quote spans, so they go when the spans go.
CREATE TABLE IF NOT EXISTS judge_calls
(
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `ScoreId` String CODEC(ZSTD(1)),
    `Scorer` LowCardinality(String),
    `Step` LowCardinality(String),
    `Model` LowCardinality(String),
    -- Name of the model that answered, by its provider.
    `ServedModel` LowCardinality(String),
    `Status` LowCardinality(String),
    `Prompt` String CODEC(ZSTD(1)),
    `Reply` String CODEC(ZSTD(1)),
    `Error` String CODEC(ZSTD(1)),
    `InputTokens` Nullable(UInt64),
    `OutputTokens` Nullable(UInt64),
    `CostUsd` Nullable(Float64),
    `DurationMs` Float64,
    `CalledAt` DateTime64(3, 'UTC'),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
PARTITION BY toDate(WrittenAt)
ORDER BY (Tenant, TraceId, CalledAt)
TTL toDateTime(WrittenAt) + toIntervalDay(30)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 1000;

-- Judgings of runs whose judge is asked again and again, to tell a change of the judge from one of the agent.
CREATE TABLE IF NOT EXISTS anchors
(
    `Tenant` LowCardinality(String),
    `Scorer` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    -- 1 for the live score with which the later ones are compared.
    `First` UInt8,
    -- Directed: 0 worst, 1 best.
    `Score` Float64,
    `At` DateTime64(3, 'UTC'),
    `ServedModel` LowCardinality(String),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree
ORDER BY (Scorer, Fingerprint, At, Tenant, TraceId, First)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS non_replicated_deduplication_window = 1000;

-- Money of judges, append-only: leases of budgets and costs of calls. A settlement may be negative.
CREATE TABLE IF NOT EXISTS spend
(
    `Rule` LowCardinality(String),
    `SpentAt` DateTime64(3, 'UTC'),
    `ScoreId` String CODEC(ZSTD(1)),
    `CostUsd` Float64,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    -- Judge call or lease of the entry: an entry that was written twice counts once.
    `CallId` String CODEC(ZSTD(1)),
    -- 'call' for the cost of a judge call, 'lease' for money that a process leases for calls, uses or gives back.
    `Kind` LowCardinality(String),
    -- Entries of one process, rule and day.
    `LeaseId` String CODEC(ZSTD(1)),
    `Tenant` LowCardinality(String),
    -- 'tenant' or 'total' for a lease of such a budget; '' for a lease of a rule's budget, and for a call.
    `Scope` LowCardinality(String)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(WrittenAt)
ORDER BY (Rule, SpentAt)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 1000;

-- One current row for each run that scoring has seen. `Version` is built from the evidence, so that a process with older evidence
-- never wins; for the same evidence, a row that was read from the content replaces one of facts. A target that later spans took away
-- has a deleted row. Times are of the spans but `WrittenAt`, the store's own, by which rows expire. A list reads its runs at their ids, so
-- granules and blocks are small.
CREATE TABLE IF NOT EXISTS runs
(
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `SpanId` String CODEC(ZSTD(1)),
    `Target` LowCardinality(String),
    `TargetId` String CODEC(ZSTD(1)),
    `SessionId` String CODEC(ZSTD(1)),
    `UserId` String CODEC(ZSTD(1)),
    `ServiceName` LowCardinality(String),
    `ServiceVersion` LowCardinality(String),
    `Agent` LowCardinality(String),
    `AgentVersion` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Models` Array(LowCardinality(String)),
    `InputTokens` Nullable(UInt64),
    `OutputTokens` Nullable(UInt64),
    `TotalTokens` Nullable(UInt64),
    `ReasoningTokens` Nullable(UInt64),
    `CachedInputTokens` Nullable(UInt64),
    `CostUsd` Nullable(Float64),
    `StartedAt` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `DurationMs` Float64,
    `Status` LowCardinality(String),
    `ErrorType` LowCardinality(String),
    `ToolCalls` Nullable(UInt32),
    `ToolErrors` Nullable(UInt32),
    `Tools` Array(LowCardinality(String)),
    `Turns` Nullable(UInt32),
    `NotScorable` LowCardinality(String),
    -- Name, value, name, value, …
    `Facets` Array(LowCardinality(String)),
    -- Beginnings of the question and of the answer, for lists. They quote spans, so they go when the spans go.
    `Question` String CODEC(ZSTD(1)) TTL toDateTime(EvidenceUntil) + toIntervalDay(30),
    `Answer` String CODEC(ZSTD(1)) TTL toDateTime(EvidenceUntil) + toIntervalDay(30),
    `ReadFrom` LowCardinality(String),
    `Completeness` LowCardinality(String),
    `EvidenceUntil` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3) CODEC(Delta(8), ZSTD(1)),
    `Version` UInt64,
    `IsDeleted` UInt8,
    INDEX by_session SessionId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX by_user UserId TYPE bloom_filter(0.001) GRANULARITY 1,
    -- Further runs of a trace, which are few.
    INDEX by_further TargetId != TraceId TYPE set(2) GRANULARITY 1,
    INDEX by_start StartedAt TYPE minmax GRANULARITY 1,
    INDEX by_written_at WrittenAt TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
ORDER BY (Tenant, TraceId, Target, TargetId)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 256, min_compress_block_size = 8192, non_replicated_deduplication_window = 1000;

-- What went wrong in a run: one row a failure. `IssueId` follows the grouping of `SignatureId`. The newest write wins: a run that is read again
-- replaces its rows, and a failure that it no longer has gets a deleted row. `Text` and `Evidence` quote spans, so they go when the spans go.
CREATE TABLE IF NOT EXISTS failures
(
    `Tenant` LowCardinality(String),
    `IssueId` String CODEC(ZSTD(1)),
    `SignatureId` String CODEC(ZSTD(1)),
    `FailureId` String CODEC(ZSTD(1)),
    `TraceId` String CODEC(ZSTD(1)),
    `TargetId` String CODEC(ZSTD(1)),
    `SpanId` String CODEC(ZSTD(1)),
    `Agent` LowCardinality(String),
    `AgentVersion` LowCardinality(String),
    `ServiceVersion` LowCardinality(String),
    `UserId` String CODEC(ZSTD(1)),
    `SessionId` String CODEC(ZSTD(1)),
    `Kind` LowCardinality(String),
    `Subject` String CODEC(ZSTD(1)),
    `Text` String CODEC(ZSTD(1)) TTL toDateTime(EvidenceUntil) + toIntervalDay(30),
    `Evidence` String CODEC(ZSTD(1)) TTL toDateTime(EvidenceUntil) + toIntervalDay(30),
    `Scorer` LowCardinality(String),
    `Source` LowCardinality(String),
    `Day` Date,
    `TraceTimestamp` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Weight` Float64,
    `InclusionProbability` Float64,
    `Stratum` LowCardinality(String),
    `Revision` UInt32,
    `EvidenceUntil` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3) CODEC(Delta(8), ZSTD(1)),
    `Version` UInt64 DEFAULT toUInt64(toUnixTimestamp64Micro(now64(6))),
    `IsDeleted` UInt8,
    INDEX by_start TraceTimestamp TYPE minmax GRANULARITY 1,
    INDEX by_issue IssueId TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
ORDER BY (Tenant, TraceId, FailureId)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000;

-- Groups of failures of one agent, with what people decided. Titles are made from masked words.
CREATE TABLE IF NOT EXISTS issues
(
    `Tenant` LowCardinality(String),
    `IssueId` String,
    `Agent` LowCardinality(String),
    `Kind` LowCardinality(String),
    `Title` String,
    -- Traces that a judge wrote the title from.
    `Named` Array(String),
    `Subject` String,
    -- open, escalating, fading, resolved, regressed, ignored
    `State` LowCardinality(String),
    `ResolvedVersion` String,
    `FirstSeen` DateTime64(3, 'UTC'),
    `Aliases` Array(String),
    `Split` Array(String),
    `Apart` Array(String),
    `History` String,
    -- Test of a resolved version as JSON; '' without one.
    `Verification` String,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64 DEFAULT toUInt64(toUnixTimestamp64Micro(now64(6))),
    `IsDeleted` UInt8
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
ORDER BY (Tenant, IssueId)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS non_replicated_deduplication_window = 1000;

-- Runs by start, so that a page of a list reads a page, and numbers of a range read the range. A row is a candidate: `runs` has the current row, which may have another
-- start. Only the first run of a trace is listed. Rows that stand together by their start were written at about the same time, so
-- the index finds the runs of the last hours. The index of texts leaves out parts without the three letters of a search.
CREATE TABLE IF NOT EXISTS run_starts
(
    `StartedAt` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `TraceId` String CODEC(ZSTD(1)),
    `Tenant` LowCardinality(String),
    `SessionId` String CODEC(ZSTD(1)),
    `UserId` String CODEC(ZSTD(1)),
    `ServiceName` LowCardinality(String),
    `ServiceVersion` LowCardinality(String),
    `Agent` LowCardinality(String),
    `AgentVersion` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Models` Array(LowCardinality(String)),
    `TotalTokens` Nullable(UInt64),
    `CostUsd` Nullable(Float64),
    `DurationMs` Float64,
    `ToolCalls` Nullable(UInt32),
    `ToolErrors` Nullable(UInt32),
    `Tools` Array(LowCardinality(String)),
    `NotScorable` LowCardinality(String),
    `EvidenceUntil` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Question` String CODEC(ZSTD(1)) TTL toDateTime(EvidenceUntil) + toIntervalDay(30),
    `Answer` String CODEC(ZSTD(1)) TTL toDateTime(EvidenceUntil) + toIntervalDay(30),
    `WrittenAt` DateTime64(3, 'UTC'),
    `Version` UInt64,
    `IsDeleted` UInt8,
    INDEX by_written_at WrittenAt TYPE minmax GRANULARITY 1,
    INDEX by_text lowerUTF8(concat(Question, '\n', Answer)) TYPE ngrambf_v1(3, 32768, 2, 0) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
ORDER BY (StartedAt, TraceId, Tenant)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS run_starts_of_runs TO run_starts AS
SELECT
    StartedAt, TraceId, Tenant, SessionId, UserId, ServiceName, ServiceVersion, Agent, AgentVersion, Environment, Models, TotalTokens,
    CostUsd, DurationMs, ToolCalls, ToolErrors, Tools, NotScorable, EvidenceUntil, Question, Answer, WrittenAt, Version, IsDeleted
FROM runs
WHERE Target = 'trace' AND TargetId = TraceId;

-- Sums of current runs by the hour of their start, for agents, costs and the counts beside lists. An hour is computed from the runs and
-- replaced as a whole, like one of scores.
CREATE TABLE IF NOT EXISTS run_hours
(
    `Tenant` LowCardinality(String),
    `Bucket` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Agent` LowCardinality(String),
    `ServiceName` LowCardinality(String),
    `Environment` LowCardinality(String),
    `AgentVersion` LowCardinality(String),
    `ServiceVersion` LowCardinality(String),
    -- The most used model of the run.
    `Model` LowCardinality(String),
    -- 0 for what is no run of an agent.
    `IsAgent` UInt8,
    `Runs` UInt64,
    -- Runs whose tools are known, and those with a tool error.
    `ReadRuns` UInt64,
    `ToolErrorRuns` UInt64,
    `CostUsd` Float64,
    -- Runs with a cost, and those without one although a model answered.
    `CostedRuns` UInt64,
    `UnpricedRuns` UInt64,
    `Tokens` UInt64,
    -- Runs with a number of tokens.
    `CountedRuns` UInt64,
    `FirstAt` DateTime64(3, 'UTC'),
    `UncostedModels` Array(String) CODEC(ZSTD(1)),
    -- Milliseconds, in steps of one percent.
    `Durations` Array(Float64) CODEC(ZSTD(1)),
    `DurationRuns` Array(UInt64) CODEC(ZSTD(1)),
    `Models` Array(String) CODEC(ZSTD(1)),
    `ModelRuns` Array(UInt64) CODEC(ZSTD(1)),
    `Tools` Array(String) CODEC(ZSTD(1)),
    `ToolRuns` Array(UInt64) CODEC(ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64,
    `IsDeleted` UInt8
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
PARTITION BY toYYYYMM(Bucket)
ORDER BY (Tenant, Bucket, Agent, ServiceName, Environment, AgentVersion, ServiceVersion, Model, IsAgent)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 0;

-- One current row for each score id. `Day` is the UTC day of the first score of that id and never moves, so that a re-score replaces
-- its row; `WrittenAt` is set by the store, for exporters that ask for what is new and for expiry. Verdicts quote spans, so they go
-- when the spans go. `Version`, from the top: 40 bits of `EvidenceUntil` in milliseconds since 2020, 2 of the source (for the same
-- evidence, live replaces a backfill), 7 of the revision, 1 for a tombstone, and 14 that are greater the sooner after its evidence
-- the row was written. So of two rows of the same evidence and revision the first one stays, whatever a process that was stalled
-- writes later. The last bits are logarithmic: 9 ms apart 10 s after the evidence, 17 days at most.
CREATE TABLE IF NOT EXISTS scores
(
    `ScoreId` UUID,
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `SpanId` String CODEC(ZSTD(1)),
    `Target` LowCardinality(String),
    `TargetId` String CODEC(ZSTD(1)),
    `SessionId` String CODEC(ZSTD(1)),
    `Scorer` LowCardinality(String),
    `ScorerVersion` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `JudgeModel` LowCardinality(String),
    `PromptVersion` LowCardinality(String),
    `Score` Float64,
    `Confidence` Nullable(Float64),
    `Rung` UInt16,
    `RungProbability` Nullable(Float64),
    `FirstScore` Nullable(Float64) DEFAULT Score,
    `Label` LowCardinality(String),
    `HigherIsBetter` Nullable(Bool),
    `ScoreMin` Nullable(Float64),
    `ScoreMax` Nullable(Float64),
    `Reason` String CODEC(ZSTD(1)),
    `Verdicts` String CODEC(ZSTD(1)) TTL toDateTime(WrittenAt) + toIntervalDay(30),
    `ServiceName` LowCardinality(String),
    `ServiceVersion` LowCardinality(String),
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Model` LowCardinality(String),
    `UserId` String CODEC(ZSTD(1)),
    `TraceTimestamp` DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `ScoredAt` DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `InputTokens` Nullable(UInt64),
    `OutputTokens` Nullable(UInt64),
    `CostUsd` Nullable(Float64),
    `JudgeCalls` UInt32,
    `DurationMs` Float64,
    `Redactions` UInt32,
    `Stratum` LowCardinality(String),
    `InclusionProbability` Float64,
    `Weight` Nullable(Float64),
    `Revision` UInt32,
    `Completeness` LowCardinality(String),
    `Source` LowCardinality(String),
    `EvidenceHash` String CODEC(ZSTD(1)),
    `EvidenceUntil` DateTime64(3, 'UTC'),
    `Day` Date,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64 DEFAULT
        bitShiftLeft(least(toUInt64(greatest(toUnixTimestamp64Milli(EvidenceUntil) - 1577836800000, 0)), 1099511627775), 24)
        + bitShiftLeft(toUInt64(transform(toString(Source), ['api', 'live', 'human'], [1, 2, 3], 0)), 22)
        + bitShiftLeft(toUInt64(least(Revision, 127)), 15)
        + bitShiftLeft(toUInt64(IsDeleted), 14)
        + toUInt64(16383 - least(16383, floor(800 * log2(1
            + greatest(0, toUnixTimestamp64Milli(now64(3)) - toUnixTimestamp64Milli(EvidenceUntil)) / 1000)))),
    `IsDeleted` UInt8,
    `AgentVersion` LowCardinality(String),
    -- Author of a score that a person or a program of the user has sent; '' for a score of spanscore.
    `ScoredBy` LowCardinality(String),
    INDEX by_score_id ScoreId TYPE bloom_filter(0.0001) GRANULARITY 1,
    INDEX by_trace_id TraceId TYPE bloom_filter(0.0001) GRANULARITY 1,
    INDEX by_written_at WrittenAt TYPE minmax GRANULARITY 1,
    INDEX by_session_id SessionId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX by_trace_timestamp TraceTimestamp TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
PARTITION BY toYYYYMM(Day)
ORDER BY (Tenant, Scorer, Day, ScoreId)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000;

-- Scores with what each adds to a mean, for SQL: of a cascade, the score of the first judge, which all runs have, and the difference of
-- the second one, weighted by the probability that it was asked.
CREATE VIEW IF NOT EXISTS corrected_scores AS
SELECT
    Tenant, TraceId, TargetId, SessionId, Scorer, Fingerprint, Source, Stratum, ServiceName, ServiceVersion, Agent, AgentVersion,
    Environment, Model, TraceTimestamp, ScoredAt, Day, Weight,
    ifNull(if(Rung = 2, FirstScore + (Score - FirstScore) / RungProbability, Score), Score) AS MeanScore
FROM scores FINAL
WHERE NOT (ScorerVersion = 'choice' AND HigherIsBetter IS NULL);

-- Directed scores from which the scores of a scorer pass, of scorers with labels: labels and bars of the configuration say it. A
-- scorer without a row has the better half of its range.
CREATE TABLE IF NOT EXISTS pass_lines
(
    `Scorer` LowCardinality(String),
    `Line` Float64,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(WrittenAt)
ORDER BY Scorer;

-- Pass rates of the last 30 days by labels of people, for SQL: the numbers of `src/domain/agreement/pass-rate.ts`, which has the
-- sources. NULL where people have not checked each verdict that has scores.
CREATE VIEW IF NOT EXISTS pass_rates AS
WITH
    (p, n, z) -> sqrt((p * (1 - p) + z * z / 4 / n) / n) * z / (1 + z * z / n) AS marginOf,
    (p, n, z) -> (0.5 - p) * z * z / n / (1 + z * z / n) AS shiftOf,
    (parts) -> arrayFold(
        (z, step) -> 1.959963985 * sqrt(arraySum(part -> pow(part.1 * marginOf(part.2, part.3, z), 2), parts))
            / arraySum(part -> part.1 * marginOf(part.2, part.3, z), parts),
        range(20), toFloat64(1.959963985)) AS quantileOf,
    (score, low, high, up) -> if(ifNull(up, true), 1, -1) * least(1, greatest(0, if(ifNull(high > low, false),
        (score - assumeNotNull(low)) / (assumeNotNull(high) - assumeNotNull(low)), score))) + if(ifNull(up, true), 0, 1) AS directed,
    judged AS (
        SELECT Tenant, scores.Scorer AS Scorer, Fingerprint, Target, TargetId, ScoredAt, HigherIsBetter, Source = 'live' AS IsLive,
            ifNull(Weight, 1) AS W, if(lines.Found = 1, lines.Line, 0.5) - 1e-9 AS PassLine,
            directed(Score, ScoreMin, ScoreMax, HigherIsBetter) >= PassLine AS Passes
        FROM (SELECT * FROM scores FINAL WHERE Source IN ('live', 'backfill') AND TraceTimestamp >= now() - INTERVAL 30 DAY) AS scores
        LEFT JOIN (SELECT Scorer, Line, 1 AS Found FROM pass_lines FINAL) AS lines ON lines.Scorer = scores.Scorer),
    people AS (
        SELECT Tenant, Scorer, Target, TargetId, Score, ScoreMin, ScoreMax, HigherIsBetter
        FROM scores FINAL WHERE Source = 'human' AND TraceTimestamp >= now() - INTERVAL 30 DAY),
    labelled AS (
        SELECT Tenant, Scorer, Fingerprint, Target, TargetId, any(own.W) AS W, any(own.Passes) AS Passes,
            avg(directed(person.Score, person.ScoreMin, person.ScoreMax, ifNull(person.HigherIsBetter, own.HigherIsBetter)) >= own.PassLine) >= 0.5
                AS IsGood
        FROM (
            SELECT * FROM judged WHERE (Tenant, Scorer, TargetId) IN (SELECT Tenant, Scorer, TargetId FROM people)
            ORDER BY ScoredAt DESC LIMIT 1 BY Tenant, Scorer, Fingerprint, Target, TargetId) AS own
        INNER JOIN people AS person USING (Tenant, Scorer, Target, TargetId)
        GROUP BY Tenant, Scorer, Fingerprint, Target, TargetId),
    counted AS (
        SELECT Tenant, Scorer, Fingerprint, countIf(IsLive) > 0 AS HasLive,
            if(HasLive, sumIf(W, IsLive AND Passes), sumIf(W, Passes)) AS PassWeight,
            if(HasLive, sumIf(W, IsLive), sum(W)) AS AllWeight, if(HasLive, sumIf(W * W, IsLive), sum(W * W)) AS Squares
        FROM judged GROUP BY Tenant, Scorer, Fingerprint),
    checked AS (
        SELECT Tenant, Scorer, Fingerprint, count() AS Labels, sumIf(W, Passes) AS LabelsOfPass, sumIf(W, NOT Passes) AS LabelsOfFail,
            sumIf(W, Passes AND IsGood) / LabelsOfPass AS GoodOfPass, sumIf(W, NOT Passes AND IsGood) / LabelsOfFail AS GoodOfFail,
            LabelsOfPass * LabelsOfPass / sumIf(W * W, Passes) AS CountOfPass,
            LabelsOfFail * LabelsOfFail / sumIf(W * W, NOT Passes) AS CountOfFail
        FROM labelled GROUP BY Tenant, Scorer, Fingerprint),
    shares AS (
        SELECT Tenant, Scorer, Fingerprint, Labels, PassWeight / AllWeight AS Share, AllWeight * AllWeight / Squares AS N,
            if(Share > 0, GoodOfPass, 0) AS P, if(Share < 1, GoodOfFail, 0) AS F,
            if(Share > 0, CountOfPass, inf) AS PN, if(Share < 1, CountOfFail, inf) AS FN,
            AllWeight > 0 AND (Share = 0 OR LabelsOfPass > 0) AND (Share = 1 OR LabelsOfFail > 0) AS IsChecked,
            Share * P + (1 - Share) * F AS Value,
            [(Share, P, PN), (1 - Share, F, FN), (abs(P - F), if(P < F, 1 - Share, Share), N)] AS Parts,
            quantileOf(Parts) AS Quantile,
            Value + arraySum(part -> part.1 * shiftOf(part.2, part.3, Quantile), Parts) AS Middle,
            arraySum(part -> part.1 * marginOf(part.2, part.3, Quantile), Parts) AS Margin
        FROM counted LEFT JOIN checked USING (Tenant, Scorer, Fingerprint))
SELECT Tenant, Scorer, Fingerprint, if(IsChecked, Value, NULL) AS Estimate,
    if(IsChecked, greatest(0, Middle - Margin), NULL) AS Low, if(IsChecked, least(1, Middle + Margin), NULL) AS High,
    toUInt64(Labels) AS Labels
FROM shares;

-- Scores by the start of the run, so that a page of a list reads a page. A row is a candidate: `scores` has the current row, which
-- may have another start.
CREATE TABLE IF NOT EXISTS score_starts
(
    `TraceTimestamp` DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `ScoreId` UUID,
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `SessionId` String CODEC(ZSTD(1)),
    `UserId` String CODEC(ZSTD(1)),
    `Scorer` LowCardinality(String),
    `Day` Date,
    `ServiceName` LowCardinality(String),
    `ServiceVersion` LowCardinality(String),
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Model` LowCardinality(String),
    `Score` Float64,
    `HigherIsBetter` Nullable(Bool),
    `ScoreMin` Nullable(Float64),
    `ScoreMax` Nullable(Float64),
    `Source` LowCardinality(String),
    `WrittenAt` DateTime64(3, 'UTC'),
    `Version` UInt64,
    `IsDeleted` UInt8
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
ORDER BY (TraceTimestamp, ScoreId)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS score_starts_of_scores TO score_starts AS
SELECT
    TraceTimestamp, ScoreId, Tenant, TraceId, SessionId, UserId, Scorer, Day, ServiceName, ServiceVersion, Agent, Environment,
    Model, Score, HigherIsBetter, ScoreMin, ScoreMax, Source, WrittenAt, Version, IsDeleted
FROM scores;

-- Every score row as it came, in the order in which it came: a re-score replaces the first score in `scores`, not here. A score that
-- is replaced by one of another hour leaves its former hour.
CREATE TABLE IF NOT EXISTS score_arrivals
(
    `WrittenAt` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `ScoreId` UUID,
    `Tenant` LowCardinality(String),
    `TraceId` String CODEC(ZSTD(1)),
    `Scorer` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    `ServiceName` LowCardinality(String),
    `ServiceVersion` LowCardinality(String),
    `Model` LowCardinality(String),
    `Score` Float64,
    `HigherIsBetter` Nullable(Bool),
    `ScoreMin` Nullable(Float64),
    `ScoreMax` Nullable(Float64),
    `Stratum` LowCardinality(String),
    `Source` LowCardinality(String),
    `Revision` UInt32,
    -- From the last span of the evidence to the score.
    `DelayMs` Int64 CODEC(ZSTD(1)),
    `AgentVersion` LowCardinality(String),
    `Target` LowCardinality(String),
    `TraceTimestamp` DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    -- Score by the first judge of a cascade.
    `FirstScore` Nullable(Float64)
)
ENGINE = MergeTree
PARTITION BY toDate(WrittenAt)
ORDER BY (WrittenAt, ScoreId)
TTL toDateTime(WrittenAt) + toIntervalDay(30)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS score_arrivals_of_scores TO score_arrivals AS
SELECT
    WrittenAt, ScoreId, Tenant, TraceId, Target, Scorer, Fingerprint, Agent, AgentVersion, Environment, ServiceName,
    ServiceVersion, Model, Score, HigherIsBetter, ScoreMin, ScoreMax, Stratum, Source, Revision,
    toUnixTimestamp64Milli(toDateTime64(ScoredAt, 3, 'UTC')) - toUnixTimestamp64Milli(EvidenceUntil) AS DelayMs,
    TraceTimestamp, FirstScore
FROM scores
WHERE IsDeleted = 0;

-- Sums of current scores for the pages, by the hour in which the scored run began. An hour is computed from the scores and replaced
-- as a whole, never added to. A row whose scores are gone is replaced by a deleted one. `Version` rises with each computation.
-- SquaredWeight: a trace is one observation, so the weights of its scores are added before they are squared.
CREATE TABLE IF NOT EXISTS score_hours
(
    `Tenant` LowCardinality(String),
    `Scorer` LowCardinality(String),
    `Bucket` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Source` LowCardinality(String),
    `Stratum` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `Target` LowCardinality(String),
    `Agent` LowCardinality(String),
    `ServiceName` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Model` LowCardinality(String),
    `ServiceVersion` LowCardinality(String),
    `AgentVersion` LowCardinality(String),
    -- Both 0 for a scorer without a range.
    `ScoreMin` Float64,
    `ScoreMax` Float64,
    -- 1: higher is better, -1: lower is better, 0: neither.
    `Direction` Int8,
    -- 0 for scores without a weight: they count as 1 each.
    `IsWeighted` UInt8,
    `Scores` UInt64,
    `Weight` Float64,
    `SquaredWeight` Float64,
    `Total` Float64,
    `SquaredTotal` Float64,
    -- Histogram. Of a scorer with a range: thousandths of the range. Else: rounded logarithms of the value, with its sign.
    `Bins` Array(Int32) CODEC(ZSTD(1)),
    `BinScores` Array(UInt64) CODEC(ZSTD(1)),
    `BinWeights` Array(Float64) CODEC(ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64,
    `IsDeleted` UInt8
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
PARTITION BY toYYYYMM(Bucket)
ORDER BY (Tenant, Scorer, Bucket, Source, Stratum, Fingerprint, Target, Agent, ServiceName, Environment, Model, ServiceVersion,
    AgentVersion, ScoreMin, ScoreMax, Direction, IsWeighted)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 0;

-- The same by the UTC day, computed from the hours.
CREATE TABLE IF NOT EXISTS score_days
(
    `Tenant` LowCardinality(String),
    `Scorer` LowCardinality(String),
    `Bucket` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Source` LowCardinality(String),
    `Stratum` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `Target` LowCardinality(String),
    `Agent` LowCardinality(String),
    `ServiceName` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Model` LowCardinality(String),
    `ServiceVersion` LowCardinality(String),
    `AgentVersion` LowCardinality(String),
    `ScoreMin` Float64,
    `ScoreMax` Float64,
    `Direction` Int8,
    `IsWeighted` UInt8,
    `Scores` UInt64,
    `Weight` Float64,
    `SquaredWeight` Float64,
    `Total` Float64,
    `SquaredTotal` Float64,
    `Bins` Array(Int32) CODEC(ZSTD(1)),
    `BinScores` Array(UInt64) CODEC(ZSTD(1)),
    `BinWeights` Array(Float64) CODEC(ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64,
    `IsDeleted` UInt8
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
PARTITION BY toYYYYMM(Bucket)
ORDER BY (Tenant, Scorer, Bucket, Source, Stratum, Fingerprint, Target, Agent, ServiceName, Environment, Model, ServiceVersion,
    AgentVersion, ScoreMin, ScoreMax, Direction, IsWeighted)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 0;

-- Hours that have to be computed again although no row was written: rows were deleted.
CREATE TABLE IF NOT EXISTS aggregate_touches
(
    `Tenant` LowCardinality(String),
    `Bucket` DateTime64(3, 'UTC'),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY WrittenAt
TTL toDateTime(WrittenAt) + toIntervalDay(30);

-- What became of each score at each exporter, of each alert's event in each channel, and the dead letters of exporters that are sent
-- again, which a receiver counts each second: the kind is the first column of the key. A row of a later round wins, and within a round
-- the last word.
CREATE TABLE IF NOT EXISTS deliveries
(
    -- alert, replay, score
    `Kind` LowCardinality(String),
    -- Exporter or channel.
    `Receiver` LowCardinality(String),
    `ScoreId` UUID,
    `Revision` UInt32,
    `EventId` UUID,
    `IncidentId` UUID,
    -- Tenant of an alert; '' for a score, which its id finds.
    `Tenant` LowCardinality(String),
    -- The id of the message that an event goes out with.
    `MessageId` UUID,
    -- planned, delivered, dead, muted, withdrawn, removed
    `State` LowCardinality(String),
    `Reason` String CODEC(ZSTD(1)),
    `PlannedAt` DateTime64(3, 'UTC'),
    `Round` UInt32,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64,
    `IsDeleted` UInt8
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
PARTITION BY toYYYYMM(WrittenAt)
ORDER BY (Kind, Receiver, ScoreId, Revision, EventId)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 1000;

-- What a series received in one closed bucket of time. Directed scores (0 worst, 1 best) in thousandths; what was not folded is
-- counted by the reason. A bucket is stored for each split that a rule asks for.
CREATE TABLE IF NOT EXISTS monitor_buckets
(
    `IntervalMs` UInt32,
    `Bucket` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `Tenant` LowCardinality(String),
    `Scorer` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Values` Array(UInt16) CODEC(ZSTD(1)),
    `Counts` Array(UInt32) CODEC(ZSTD(1)),
    `Scored` UInt32,
    `Failed` UInt32,
    `Deferred` UInt32,
    `Refused` UInt32,
    `Repeated` UInt32,
    `Rescored` UInt32,
    `Late` UInt32,
    `NotUniform` UInt32,
    `NotLive` UInt32,
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    -- What a series is split by beyond the columns before it, and the values: facet, value, facet, value; [] for all scores of an agent in
    -- an environment.
    `Split` Array(String)
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(Bucket)
ORDER BY (IntervalMs, Bucket, Tenant, Scorer, Fingerprint, Agent, Environment, Split)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000;

-- States of rules on their series. 'status': where a rule stands, for people; the newest one holds. 'checkpoint': the detector after a
-- bucket; the row without a scorer is written last, then all of that rule are there.
CREATE TABLE IF NOT EXISTS monitor_states
(
    `RuleKey` String,
    `Kind` LowCardinality(String),
    -- Bucket of a checkpoint; 1970 for a status.
    `Checkpoint` DateTime64(3, 'UTC'),
    `Tenant` LowCardinality(String),
    `Scorer` LowCardinality(String),
    `Fingerprint` LowCardinality(String),
    `Agent` LowCardinality(String),
    `Environment` LowCardinality(String),
    `Split` Array(String),
    `Bucket` DateTime64(3, 'UTC'),
    `State` String CODEC(ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(Bucket)
PARTITION BY (Kind, if(Kind = 'checkpoint', toDate(WrittenAt), toDate(0)))
ORDER BY (RuleKey, Kind, Checkpoint, Tenant, Scorer, Fingerprint, Agent, Environment, Split)
TTL toDateTime(WrittenAt) + toIntervalDay(400),
    toDateTime(WrittenAt) + toIntervalDay(3) DELETE WHERE Kind = 'checkpoint'
SETTINGS non_replicated_deduplication_window = 1000;

-- Since when which version of an agent or of its service runs: the start of the first run with a live score, or the announced time. The
-- passes of the sums add the runs. A start after the write, or long before it, is of a wrong clock: then the time of the write counts.
CREATE TABLE IF NOT EXISTS deploy_markers
(
    `Tenant` LowCardinality(String),
    `ServiceName` LowCardinality(String),
    `Agent` LowCardinality(String),
    `ServiceVersion` String,
    `Origin` LowCardinality(String),
    `FirstSeen` SimpleAggregateFunction(min, DateTime64(3, 'UTC')),
    `AgentVersion` String
)
ENGINE = AggregatingMergeTree
ORDER BY (Tenant, ServiceName, Agent, ServiceVersion, Origin, AgentVersion);

-- Beginnings and ends of incidents: what channels are told, once each.
CREATE TABLE IF NOT EXISTS alert_events
(
    `EventId` UUID,
    `IncidentId` UUID,
    `Tenant` LowCardinality(String),
    `Status` LowCardinality(String),
    `Alert` LowCardinality(String),
    `StartsAt` DateTime64(3, 'UTC'),
    `EndsAt` Nullable(DateTime64(3, 'UTC')),
    -- The whole event as JSON.
    `Event` String CODEC(ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    INDEX by_written_at WrittenAt TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY EventId
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS non_replicated_deduplication_window = 1000;

-- What people answer to an incident: "this is the new normal" (ack), or a note.
CREATE TABLE IF NOT EXISTS alert_replies
(
    `IncidentId` UUID,
    `Tenant` LowCardinality(String),
    -- ack, note
    `Kind` LowCardinality(String),
    -- Name of the token; '' without tokens.
    `Author` LowCardinality(String),
    `Text` String CODEC(ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY IncidentId
TTL toDateTime(WrittenAt) + toIntervalDay(400);

-- Of what nobody is to be told until when: an alert's name or an incident's id. The newest row of each holds.
CREATE TABLE IF NOT EXISTS alert_mutes
(
    `Tenant` LowCardinality(String),
    `Subject` String,
    `MutedUntil` DateTime64(3, 'UTC'),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    -- Start of the mute: a longer mute keeps it, so that the list of mutes has an order that a change does not move.
    `MutedAt` DateTime64(3, 'UTC') DEFAULT WrittenAt,
    -- Name of the token; '' without tokens.
    `Author` LowCardinality(String),
    `Reason` String CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(WrittenAt)
ORDER BY (Tenant, Subject)
TTL toDateTime(WrittenAt) + toIntervalDay(400);

-- Work of minutes or hours: repairs, erasures, histories. One current row for each job, without a word. Only the process that has the
-- lease (the duty `job <id>`) writes it, after the first one. `Version` rises with each lease and each write of it, so a row of a former
-- holder never wins. Spec, Checkpoint and Report are JSON. The last words of processes without the lease have rows of their own, the
-- time of the word as their version: 'order' (in Status: pause, resume or cancel of people) and 'left' (in Error: the reason of a process
-- that cannot run the job).
CREATE TABLE IF NOT EXISTS jobs
(
    `Id` String,
    `Word` LowCardinality(String),
    `Kind` LowCardinality(String),
    `Tenant` LowCardinality(String),
    `Spec` String CODEC(ZSTD(1)),
    -- queued, running, done, failed, cancelled
    `Status` LowCardinality(String),
    `Owner` String,
    `Checkpoint` String CODEC(ZSTD(1)),
    `Report` String CODEC(ZSTD(1)),
    `CostUsd` Float64,
    `Error` String CODEC(ZSTD(1)),
    `CreatedAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `StartedAt` Nullable(DateTime64(3, 'UTC')),
    `FinishedAt` Nullable(DateTime64(3, 'UTC')),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3),
    `Version` UInt64 DEFAULT toUnixTimestamp64Milli(now64(3))
)
ENGINE = ReplacingMergeTree(Version)
ORDER BY (Id, Word)
TTL toDateTime(WrittenAt) + toIntervalDay(400);

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
