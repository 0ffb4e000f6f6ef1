/**
 * What marks a span or a log record as one of an agent or a model call: a superset, decided without reading any value, so
 * that traffic of other kinds (HTTP servers, databases) costs nothing. The normalisers have the last word.
 */
export interface AgentSignals {
  /** Prefixes of attribute keys. */
  readonly keyPrefixes: readonly string[];
  /** Prefixes of instrumentation scope names. */
  readonly scopePrefixes: readonly string[];
  /** Whole scope names, where a prefix would take in strangers. */
  readonly scopes: readonly string[];
  /** Prefixes of the names of span events and log events. */
  readonly eventPrefixes: readonly string[];
}

/** The one table; the materialized views of the store are generated from it. Plain ASCII, no quotes, no backslashes. */
export const AGENT_SIGNALS: AgentSignals = {
  keyPrefixes: [
    'gen_ai.',
    'ai.',
    'openinference.',
    'llm.',
    'traceloop.',
    'langfuse.',
    'mastra.',
    'langsmith.',
    'mlflow.',
    'pydantic_ai.',
    'all_messages_events',
    'gcp.vertex.agent',
    'genkit:',
    'lk.',
    'haystack.',
    'spring.ai.',
    'logfire.',
    'lmnr.',
    'smolagents.',
    'claude_code',
    'koog.',
    'flue.',
    'voltagent.',
    'braintrust.',
    'crew_key',
    'agent_framework.',
  ],
  scopePrefixes: [
    'openinference.',
    '@arizeai/openinference',
    '@traceloop/',
    'traceloop',
    'opentelemetry.instrumentation.openai',
    'opentelemetry.instrumentation.genai',
    'opentelemetry.instrumentation.anthropic',
    'opentelemetry.instrumentation.langchain',
    'opentelemetry.util.genai',
    '@opentelemetry/instrumentation-openai',
    'io.opentelemetry.openai',
    'org.springframework.ai.',
    'langfuse',
    'langsmith',
    '@mastra/',
    'pydantic-ai',
    'gcp.vertex.agent',
    'genkit',
    'livekit-agents',
    'strands',
    'semantic_kernel',
    'Microsoft.SemanticKernel',
    'Experimental.Microsoft.',
    'agent_framework',
    'autogen',
    'azure.ai.',
    'com.anthropic.claude_code',
    'logfire.',
    'lmnr',
    '@lmnr-ai/',
    'litellm',
    'mlflow',
    'crewai',
    'haystack',
    'ai.koog',
    'smolagents',
    '@flue/',
  ],
  scopes: ['ai', 'gen_ai'],
  eventPrefixes: ['gen_ai.'],
};

/** What the test looks at: a span, or a log record with its event name as the only event. */
export interface SignalSource {
  readonly scopeName: string;
  readonly attributeKeys: Iterable<string>;
  readonly eventNames: Iterable<string>;
}

/** Whether this looks like a span or a log record of an agent or a model call. */
export function looksLikeAgent(source: SignalSource, signals: AgentSignals = AGENT_SIGNALS): boolean {
  return (
    signals.scopes.includes(source.scopeName) ||
    startsWithAny(source.scopeName, signals.scopePrefixes) ||
    someStartsWithAny(source.attributeKeys, signals.keyPrefixes) ||
    someStartsWithAny(source.eventNames, signals.eventPrefixes)
  );
}

function someStartsWithAny(texts: Iterable<string>, prefixes: readonly string[]): boolean {
  for (const text of texts) {
    if (startsWithAny(text, prefixes)) {
      return true;
    }
  }
  return false;
}

function startsWithAny(text: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => text.startsWith(prefix));
}
