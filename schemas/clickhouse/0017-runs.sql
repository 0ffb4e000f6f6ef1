-- One current row for each run that scoring has seen. `Version` is built from the evidence, so that a process with older
-- evidence never wins; for the same evidence, a row that was read from the content replaces one of facts. A target that later
-- spans took away has a deleted row. Times are of the spans but `WrittenAt`, the store's own, by which rows expire.

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
    `Turns` Nullable(UInt32),
    `NotScorable` LowCardinality(String),
    `ReadFrom` LowCardinality(String),
    `Completeness` LowCardinality(String),
    `EvidenceUntil` DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    `WrittenAt` DateTime64(3, 'UTC') DEFAULT now64(3) CODEC(Delta(8), ZSTD(1)),
    `Version` UInt64,
    `IsDeleted` UInt8,
    INDEX by_session SessionId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX by_user UserId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX by_start StartedAt TYPE minmax GRANULARITY 1,
    INDEX by_written_at WrittenAt TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(Version, IsDeleted)
ORDER BY (Tenant, TraceId, Target, TargetId)
TTL toDateTime(WrittenAt) + toIntervalDay(400)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000;

-- Facts for the runs of traces that are not read: session, user, model and version, as plain texts. Only new spans have them.
ALTER TABLE otel_traces
    MODIFY COLUMN `Facts` Map(LowCardinality(String), String) MATERIALIZED mapConcat(mapFilter((key, value) -> key IN (
        'gen_ai.agent.name', 'gen_ai.operation.name', 'gen_ai.tool.name', 'ai.operationId', 'ai.telemetry.functionId',
        'agent.name', 'openinference.span.kind', 'traceloop.span.kind', 'langsmith.span.kind', 'mlflow.spanType',
        'mastra.span.type', 'langfuse.observation.type', 'langfuse.environment', 'genkit:metadata:subtype', 'span.type',
        'gen_ai.conversation.id', 'session.id', 'gen_ai.session.id', 'langfuse.session.id', 'mlflow.trace.session',
        'traceloop.association.properties.session_id', 'ai.telemetry.metadata.sessionId', 'mastra.metadata.sessionId',
        'mastra.metadata.threadId', 'langsmith.metadata.session_id', 'langsmith.metadata.thread_id', 'ai.settings.context.sessionId',
        'user.id', 'enduser.id', 'langfuse.user.id', 'mlflow.trace.user', 'traceloop.association.properties.user_id',
        'ai.telemetry.metadata.userId', 'mastra.metadata.userId', 'mastra.metadata.resourceId', 'langsmith.metadata.user_id',
        'ai.settings.context.userId', 'gen_ai.response.model', 'gen_ai.request.model', 'llm.model_name', 'ai.response.model',
        'ai.model.id') OR position(key, 'feedback') > 0, SpanAttributes), mapFilter((key, value) -> key IN (
        'deployment.environment.name', 'deployment.environment', 'service.version', 'session.id', 'user.id', 'enduser.id'
        ), ResourceAttributes)) CODEC(ZSTD(1));
