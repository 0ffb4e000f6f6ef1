import type { ToldStory } from '../told-story.ts';

/** An agent under one instrumentation. */
export interface JsPeer {
  readonly name: string;
  /** `emitters/<script>.mjs`; default: the name. */
  readonly script?: string;
  readonly variables?: Readonly<Record<string, string>>;
  /** Differences of its run from the story, with the reason. */
  readonly differs?: Partial<ToldStory>;
  readonly why?: string;
}

/** A client's instrumentation traces model calls only: nothing names the agent, the session or the user. */
const BARE_CLIENT = { agent: null, session: null, user: null };

export const JS_PEERS: readonly JsPeer[] = [
  { name: 'ai-sdk-6' },
  { name: 'ai-sdk-6-stream', script: 'ai-sdk-6', variables: { STREAM: '1' } },
  { name: 'ai-sdk-7' },
  { name: 'ai-sdk-7-stream', script: 'ai-sdk-7', variables: { STREAM: '1' } },
  {
    name: 'genkit',
    differs: { agent: 'weatherFlow', session: null, user: null },
    why: 'it knows flows, no sessions',
  },
  { name: 'langfuse' },
  { name: 'mastra' },
  {
    name: 'openai-agents',
    differs: { session: null, user: null },
    why: 'the group id of a trace is not exported',
  },
  {
    name: 'openinference-langchain',
    differs: { models: ['gpt-4o-mini'], user: null },
    why: 'the model is the one asked for; no key of the metadata becomes a user',
  },
  { name: 'openinference-openai', differs: { agent: null }, why: 'nothing names the agent' },
  { name: 'otel-openai', differs: BARE_CLIENT, why: 'it traces model calls only' },
  {
    name: 'strands',
    differs: { models: ['gpt-4o-mini'] },
    why: 'the model is the one asked for',
  },
  {
    name: 'traceloop-langchain',
    differs: { ...BARE_CLIENT, models: ['gpt-4o-mini'] },
    why: 'its spans carry no metadata, and the model is the one asked for',
  },
  { name: 'traceloop-openai', differs: BARE_CLIENT, why: 'it traces model calls only' },
];
