// Attribute keys of the facts of a run that is not read. The store keeps these attributes of each span in the column `Facts`, and reads
// the facts from them: a new key needs a line here only.

/** Attribute keys of an agent's name. */
export const AGENT_KEYS = ['gen_ai.agent.name', 'agent.name', 'ai.telemetry.functionId'];

/** Keys and values of attributes that mark a tool call. The comparison ignores case and quotes. */
export const TOOL_MARKS: readonly (readonly [string, string])[] = [
  ['gen_ai.operation.name', 'execute_tool'],
  ['ai.operationId', 'ai.toolcall'],
  ['openinference.span.kind', 'tool'],
  ['traceloop.span.kind', 'tool'],
  ['langsmith.span.kind', 'tool'],
  ['mlflow.spanType', 'tool'],
  ['mastra.span.type', 'tool_call'],
  ['mastra.span.type', 'mcp_tool_call'],
  ['langfuse.observation.type', 'tool'],
  ['genkit:metadata:subtype', 'tool'],
  ['genkit:metadata:subtype', 'tool.v2'],
  ['span.type', 'tool'],
];

/** Attribute keys of session, user and model, the surest first. */
export const SESSION_KEYS = [
  'gen_ai.conversation.id',
  'session.id',
  'gen_ai.session.id',
  'langfuse.session.id',
  'mlflow.trace.session',
  'traceloop.association.properties.session_id',
  'ai.telemetry.metadata.sessionId',
  'mastra.metadata.sessionId',
  'mastra.metadata.threadId',
  'langsmith.metadata.session_id',
  'langsmith.metadata.thread_id',
  'ai.settings.context.sessionId',
];
export const USER_KEYS = [
  'user.id',
  'enduser.id',
  'langfuse.user.id',
  'mlflow.trace.user',
  'traceloop.association.properties.user_id',
  'ai.telemetry.metadata.userId',
  'mastra.metadata.userId',
  'mastra.metadata.resourceId',
  'langsmith.metadata.user_id',
  'ai.settings.context.userId',
];
export const MODEL_KEYS = [
  'gen_ai.response.model',
  'ai.response.model',
  'gen_ai.request.model',
  'llm.model_name',
  'ai.model.id',
];

/** Attribute key of an agent's version, on a span or a resource. */
export const AGENT_VERSION_KEY = 'gen_ai.agent.version';

export const ENVIRONMENT_KEYS = ['deployment.environment.name', 'deployment.environment'];

/**
 * Attribute keys that `Facts` holds for a span and for its resource. `Facts` also holds every span attribute whose key
 * contains `feedback`.
 */
export const FACT_KEYS = {
  span: [
    ...new Set([
      ...AGENT_KEYS,
      ...TOOL_MARKS.map(([key]) => key),
      'gen_ai.tool.name',
      'langfuse.environment',
      ...SESSION_KEYS,
      ...USER_KEYS,
      ...MODEL_KEYS,
      AGENT_VERSION_KEY,
    ]),
  ],
  resource: [
    ...ENVIRONMENT_KEYS,
    'service.version',
    'session.id',
    'user.id',
    'enduser.id',
    AGENT_VERSION_KEY,
  ],
};
