import type { PythonPeer } from '../python/python-peer.ts';

/** An emitter whose telemetry is a fixture. */
export type RecordedPeer = { readonly name: string } & (
  | (PythonPeer & {
      /** True where the recording is of this version: `--newest` leaves its packages as they are. */
      readonly held?: boolean;
    })
  | {
      readonly script: string;
      readonly packages: readonly string[];
      readonly variables?: Readonly<Record<string, string>>;
    }
);

const LANGFUSE = { agent: 'langfuse_agent.py' };
const OPENAI_AGENTS = { agent: 'openai_agents_agent.py' };
const LOGFIRE = { packages: 'logfire', agent: 'logfire_client.py' };
const COMPLETION = { packages: 'text-completions', agent: 'text_completion.py' };
const ADOT = { agent: 'adot_agent.py' };
const GEMINI_CLI = { script: 'gemini-cli.mjs', packages: ['@google/gemini-cli-core'] };
const LATITUDE = { script: 'latitude.mjs', packages: ['@latitude-data/telemetry'] };
const GENAI = { agent: 'google_genai_agent.py' };
const GENAI_CONTENT = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT';

/** An agent of a framework whose content AWS's distribution moves to log records. */
function adot(instrumentation: string, packages: string): RecordedPeer {
  const variables = { INSTRUMENTATION: instrumentation, AGENT_OBSERVABILITY_ENABLED: 'true' };
  return { ...ADOT, name: `adot-${instrumentation}`, packages, variables };
}

/** Emitters of shapes that other projects recorded, as their own packages send them. */
export const RECORDED_PEERS: readonly RecordedPeer[] = [
  { ...LANGFUSE, name: 'langfuse-3-py-langgraph', packages: 'langfuse-3', held: true },
  { ...LANGFUSE, name: 'langfuse-4-py-langgraph', packages: 'langfuse-4', held: true },
  { ...LANGFUSE, name: 'langfuse-py-langgraph', packages: 'langfuse' },
  { ...LANGFUSE, name: 'langfuse-py-langchain', packages: 'langfuse', variables: { AGENT: 'langchain' } },
  {
    name: 'langfuse-js-langchain',
    script: 'langfuse-langchain.mjs',
    packages: ['@langfuse/langchain', '@langfuse/otel', 'langchain'],
  },
  { ...LOGFIRE, name: 'logfire-openai-responses-v1', variables: { CLIENT: 'openai', FORMAT: '1' } },
  { ...LOGFIRE, name: 'logfire-anthropic-v1', variables: { CLIENT: 'anthropic', FORMAT: '1' } },
  { ...LOGFIRE, name: 'logfire-anthropic-v1-v2', variables: { CLIENT: 'anthropic', FORMAT: '1,2' } },
  {
    ...OPENAI_AGENTS,
    name: 'logfire-agents-chat',
    packages: 'logfire',
    variables: { INSTRUMENTATION: 'logfire', API: 'chat' },
  },
  {
    ...OPENAI_AGENTS,
    name: 'logfire-agents-responses',
    packages: 'logfire',
    variables: { INSTRUMENTATION: 'logfire' },
  },
  {
    ...OPENAI_AGENTS,
    name: 'openllmetry-openai-agents',
    packages: 'openllmetry-openai-agents',
    variables: { INSTRUMENTATION: 'openllmetry' },
  },
  {
    ...OPENAI_AGENTS,
    name: 'otel-openai-agents-v2',
    packages: 'otel-openai-agents',
    variables: { INSTRUMENTATION: 'otel' },
  },
  {
    name: 'openllmetry-langchain-0.40',
    packages: 'openllmetry-langchain-0.40',
    agent: 'openllmetry_langchain.py',
    held: true,
  },
  { ...COMPLETION, name: 'openinference-llamaindex-completion', variables: { CLIENT: 'llama_index' } },
  { ...COMPLETION, name: 'openinference-openai-completion', variables: { CLIENT: 'openai' } },
  {
    ...GENAI,
    name: 'google-genai-0.7',
    packages: 'google-genai-0.7',
    variables: { [GENAI_CONTENT]: 'true' },
    held: true,
  },
  {
    ...GENAI,
    name: 'google-genai',
    packages: 'google-genai',
    variables: {
      OTEL_SEMCONV_STABILITY_OPT_IN: 'gen_ai_latest_experimental',
      [GENAI_CONTENT]: 'SPAN_AND_EVENT',
    },
  },
  { name: 'openllmetry-llamaindex', packages: 'openllmetry-llamaindex', agent: 'llama_index_rag.py' },
  { ...GEMINI_CLI, name: 'gemini-cli' },
  { ...GEMINI_CLI, name: 'gemini-cli-terminal', variables: { TERMINAL_SPAN: '1' } },
  adot('strands', 'adot-strands'),
  adot('langchain', 'adot-langchain'),
  adot('openllmetry-langchain', 'adot-openllmetry'),
  adot('openinference-langchain', 'adot-openinference'),
  { ...LATITUDE, name: 'latitude-openai' },
  { ...LATITUDE, name: 'latitude-openai-agents', variables: { CLIENT: 'openai-agents' } },
  { name: 'agno', packages: 'agno', agent: 'agno_agent.py' },
  { name: 'claude-agent-sdk', packages: 'claude-agent-sdk', agent: 'claude_agent.py' },
  { name: 'beeai', packages: 'beeai', agent: 'beeai_agent.py' },
  { name: 'trulens-rag', packages: 'trulens', agent: 'trulens_rag.py' },
];
