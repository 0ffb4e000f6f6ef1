-- Spans and GenAI log records, with the column names and types of the OpenTelemetry Collector's ClickHouse exporter, then
-- columns of ours. Partitioned and expired by arrival only: a span's own time is data of the sender, any value is kept.

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
    -- The few short attributes that rules look at, so that a filter never reads content.
    `Facts` Map(LowCardinality(String), String) MATERIALIZED mapConcat(mapFilter((key, value) -> key IN (
        'gen_ai.agent.name', 'gen_ai.operation.name', 'gen_ai.tool.name', 'ai.operationId', 'ai.telemetry.functionId',
        'agent.name', 'openinference.span.kind', 'traceloop.span.kind', 'langsmith.span.kind', 'mlflow.spanType',
        'mastra.span.type', 'langfuse.observation.type', 'langfuse.environment', 'genkit:metadata:subtype', 'span.type'
        ) OR position(key, 'feedback') > 0, SpanAttributes), mapFilter((key, value) -> key IN (
        'deployment.environment.name', 'deployment.environment'), ResourceAttributes)) CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toDate(ArrivedAt)
ORDER BY (Tenant, TraceId, SpanId)
TTL toDateTime(ArrivedAt) + toIntervalDay(30)
SETTINGS index_granularity = 256, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

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
