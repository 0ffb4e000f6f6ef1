-- First targets of each new version that rules score (`sample.always: newVersion`): one stored choice for all processes. Rows of one
-- version are added under a deduplication token made of the number of its rows before, so that of two processes only one adds.
-- A row with Slot 0 says that the version was in use before the rule asked for new versions. Rows stay: a version that
-- was forgotten would be new again.

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

-- Facts of the versions of agents. Only new spans have them.
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
        'ai.model.id', 'gen_ai.agent.version'
        ) OR position(key, 'feedback') > 0, SpanAttributes), mapFilter((key, value) -> key IN (
        'deployment.environment.name', 'deployment.environment', 'service.version', 'session.id', 'user.id', 'enduser.id',
        'gen_ai.agent.version'), ResourceAttributes)) CODEC(ZSTD(1));
