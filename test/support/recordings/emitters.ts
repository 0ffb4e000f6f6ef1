/** Emitter as the names of its recordings show it. */
export interface Emitter {
  name: string;
  /** Prefixes of its recordings' names. */
  cases: readonly string[];
  /** Setting that makes it send the session and the user. */
  identity: string;
}

const ROOT_ATTRIBUTES = 'put `session.id` and `user.id` on the root span (a span processor does)';
const OPENINFERENCE =
  'wrap the call in `using_session` and `using_user` (JavaScript: `setSession`, `setUser`)';
const AI_SDK = 'pass `sessionId` and `userId` in the telemetry option’s `metadata`';
const AI_SDK_7 =
  'pass `sessionId` and `userId` in `runtimeContext`, name both in `telemetry.includeRuntimeContext`, and register `new OpenTelemetry({ runtimeContext: true })`';
const ADK = 'pass `user_id` and `session_id` to the runner; the user is in log records only (export logs)';

/** All emitters with recordings of our own. */
export const EMITTERS: readonly Emitter[] = [
  { name: 'AI SDK 4', cases: ['ai-sdk-v4'], identity: AI_SDK },
  { name: 'AI SDK 5', cases: ['ai-sdk-v5'], identity: AI_SDK },
  { name: 'AI SDK 6', cases: ['ai-sdk-v6'], identity: AI_SDK },
  { name: 'AI SDK 7', cases: ['ai-sdk-v7'], identity: AI_SDK_7 },
  {
    name: 'Mastra (OpenTelemetry exporter)',
    cases: ['mastra'],
    identity: 'pass `memory: { thread, resource }`, or tracing metadata `sessionId` and `userId`',
  },
  { name: 'Genkit (JavaScript, Go)', cases: ['genkit'], identity: ROOT_ATTRIBUTES },
  {
    name: 'Strands Agents',
    cases: ['strands'],
    identity: 'pass `trace_attributes={"session.id": …, "user.id": …}`',
  },
  { name: 'Google ADK 1 (Python)', cases: ['google-adk-1.20'], identity: ADK },
  { name: 'Google ADK 2 (Python)', cases: ['google-adk-py'], identity: ADK },
  { name: 'Google ADK (Java)', cases: ['adk-java'], identity: ADK },
  {
    name: 'Pydantic AI',
    cases: ['pydantic-ai'],
    identity: 'pass `conversation_id`; put `user.id` on a span around the run',
  },
  { name: 'Microsoft Agent Framework', cases: ['agent-framework'], identity: ROOT_ATTRIBUTES },
  { name: 'Semantic Kernel', cases: ['semantic-kernel'], identity: ROOT_ATTRIBUTES },
  { name: 'AutoGen', cases: ['autogen'], identity: OPENINFERENCE },
  { name: 'Haystack 2 (native)', cases: ['haystack-2'], identity: ROOT_ATTRIBUTES },
  { name: 'Haystack (OpenInference)', cases: ['haystack-py'], identity: OPENINFERENCE },
  { name: 'Koog', cases: ['koog'], identity: 'pass a session id to the run; put `user.id` on the root span' },
  { name: 'Spring AI 1', cases: ['spring-ai-1'], identity: ROOT_ATTRIBUTES },
  { name: 'Spring AI 2', cases: ['spring-ai-2'], identity: ROOT_ATTRIBUTES },
  { name: 'LangChain4j (OpenTelemetry agent)', cases: ['langchain4j'], identity: ROOT_ATTRIBUTES },
  { name: 'OpenTelemetry openai (JavaScript)', cases: ['otel-contrib-openai'], identity: ROOT_ATTRIBUTES },
  {
    name: 'OpenTelemetry openai (Python)',
    cases: ['otel-openai-v2', 'otel-genai-openai'],
    identity: ROOT_ATTRIBUTES,
  },
  { name: 'OpenTelemetry openai (Java)', cases: ['otel-openai-java'], identity: ROOT_ATTRIBUTES },
  {
    name: 'OpenInference openai',
    cases: ['openinference-openai-chat', 'openinference-openai-responses'],
    identity: OPENINFERENCE,
  },
  {
    name: 'OpenInference LangChain and LangGraph',
    cases: ['openinference-langchain'],
    identity: 'pass `metadata: { session_id, user_id }` in the configuration of the call',
  },
  { name: 'OpenInference OpenAI Agents', cases: ['openinference-openai-agents'], identity: OPENINFERENCE },
  { name: 'OpenInference LlamaIndex', cases: ['openinference-llamaindex'], identity: OPENINFERENCE },
  { name: 'OpenInference CrewAI', cases: ['openinference-crewai'], identity: OPENINFERENCE },
  { name: 'OpenInference smolagents', cases: ['openinference-smolagents'], identity: OPENINFERENCE },
  { name: 'OpenInference DSPy', cases: ['openinference-dspy'], identity: OPENINFERENCE },
  { name: 'OpenInference Vercel', cases: ['openinference-vercel'], identity: AI_SDK },
  {
    name: 'OpenAI Agents (Logfire)',
    cases: ['openai-agents-py'],
    identity: 'pass `group_id` to the trace; put `user.id` on a span around it',
  },
  {
    name: 'OpenLLMetry (Traceloop)',
    cases: ['traceloop'],
    identity: 'set the association properties `session_id` and `user_id`',
  },
  { name: 'Langfuse', cases: ['langfuse'], identity: 'propagate the attributes `sessionId` and `userId`' },
  { name: 'LangSmith', cases: ['langsmith'], identity: 'pass the metadata `session_id` and `user_id`' },
  {
    name: 'MLflow',
    cases: ['mlflow'],
    identity: 'its trace metadata does not travel over OTLP; put `session.id` and `user.id` on the spans',
  },
  {
    name: 'LiteLLM',
    cases: ['litellm'],
    identity: 'pass `user`; its metadata does not travel as attributes, so nothing tells the session',
  },
];

/** Emitter with spans from other recorders, or with a description only: `test/fixtures/spans-spec`. */
export interface DescribedEmitter extends Emitter {
  readonly from: 'recorded by others' | 'description';
}

const SENT = 'sent by itself';

/** Emitters that are not among the recorded ones. */
export const DESCRIBED_EMITTERS: readonly DescribedEmitter[] = [
  { name: 'Claude Code', cases: ['claude-code'], identity: SENT, from: 'description' },
  {
    name: 'Claude Agent SDK (OpenInference)',
    cases: ['claude-agent-sdk-openinference'],
    identity: OPENINFERENCE,
    from: 'recorded by others',
  },
  {
    name: 'Claude Agent SDK (LangSmith)',
    cases: ['claude-agent-langsmith'],
    identity: 'pass the metadata `session_id` and `user_id`',
    from: 'recorded by others',
  },
  { name: 'Agno (OpenInference)', cases: ['agno'], identity: OPENINFERENCE, from: 'recorded by others' },
  {
    name: 'LangChain (LangSmith)',
    cases: ['langsmith-langchain'],
    identity: 'pass the metadata `session_id` and `user_id`',
    from: 'description',
  },
  { name: 'Logfire (OpenAI)', cases: ['logfire-openai'], identity: ROOT_ATTRIBUTES, from: 'description' },
  {
    name: 'OpenAI Agents (OpenLLMetry)',
    cases: ['otel-openai-agents'],
    identity: ROOT_ATTRIBUTES,
    from: 'recorded by others',
  },
  {
    name: 'Laminar',
    cases: ['laminar'],
    identity: 'set the association properties `session_id` and `user_id`',
    from: 'description',
  },
  {
    name: 'OpenLIT',
    cases: ['openlit'],
    identity: 'the client’s `user` is sent; put `session.id` on the root span',
    from: 'description',
  },
  {
    name: 'LiveKit Agents (old and new keys)',
    cases: ['livekit'],
    identity: 'the session is the room; put `user.id` on the root span',
    from: 'description',
  },
];

/** Emitters of the synthetic shapes (`test/fixtures/shapes`), by the prefix of the shape's name. */
export const SHAPES: readonly (readonly [start: string, emitter: string])[] = [
  ['adot-langchain', 'AWS’s distribution of OpenTelemetry: LangChain'],
  ['adot-strands', 'AWS’s distribution of OpenTelemetry: Strands'],
  ['agent-below', 'LangGraph in two services (agntcy observe, A2A)'],
  ['agent-input', 'Google ADK (LoongSuite)'],
  ['agent-name-elsewhere', 'OpenTelemetry util-genai'],
  ['agent-name-on', 'Agent 365'],
  ['agentops', 'CrewAI (AgentOps)'],
  ['aisdk', 'Mastra (Vercel AI SDK, keys under the call’s name)'],
  ['anthropic', 'Anthropic’s Messages API (Langfuse and others)'],
  ['any-agent', 'any-agent'],
  ['beeai', 'BeeAI (OpenInference)'],
  ['claude-agent-sdk', 'Claude Agent SDK (OpenInference)'],
  ['gemini-cli', 'Gemini CLI'],
  ['google-genai', 'Google GenAI (OpenTelemetry)'],
  ['kind-over', 'OpenAI (OpenLLMetry, with a kind of OpenInference)'],
  ['laminar-auto', 'LangChain (Laminar)'],
  ['laminar-gemini', 'Google GenAI (Laminar)'],
  ['langfuse-js', 'LangGraph (Langfuse, JavaScript)'],
  ['langfuse-py', 'LangGraph (Langfuse, Python)'],
  ['latitude', 'Latitude'],
  ['logfire-agents', 'OpenAI Agents (Logfire)'],
  ['logfire-anthropic', 'Anthropic (Logfire, format 1)'],
  ['logfire-openai', 'OpenAI (Logfire, format 1)'],
  ['mcp', 'Microsoft.Extensions.AI'],
  ['messages', 'Galileo'],
  ['monocle', 'Monocle'],
  ['openinference-audio', 'OpenAI with audio (OpenInference)'],
  ['openinference-handoff', 'OpenAI Agents (OpenInference)'],
  ['openinference-llm-prompts', 'LlamaIndex (OpenInference)'],
  ['openinference-text', 'OpenAI text completions (OpenInference)'],
  ['openllmetry-langchain', 'LangChain (OpenLLMetry 0.40)'],
  ['openllmetry-llamaindex', 'LlamaIndex (OpenLLMetry)'],
  ['openllmetry-openai-agents', 'OpenAI Agents (OpenLLMetry)'],
  ['openllmetry-workflow', 'decorated functions (OpenLLMetry)'],
  ['otel-details', 'OpenTelemetry util-genai'],
  ['otel-workflow', 'OpenTelemetry util-genai'],
  ['otel-openai-agents', 'OpenAI Agents (OpenTelemetry)'],
  ['platform-key', 'a model call with a key of VoltAgent'],
  ['pydantic-ai', 'Pydantic AI, format 1'],
  ['semantic', 'Semantic Kernel of 2024'],
  ['server', 'Microsoft.Extensions.AI'],
  ['trulens', 'TruLens'],
];
