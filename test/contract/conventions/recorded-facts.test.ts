import { describe, expect, it } from 'vitest';
import { readTraces } from '../../../src/conventions/index.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import { answerText, invocationParts, textOfMessage } from '../../support/recordings/facts.ts';
import { recordedSpans } from '../../support/recordings/recorded-spans.ts';

/** Compared part of a run. */
interface Look {
  agent: string | null;
  system: string;
  input: string;
  remembered: number;
  /** Names of tools. A failed call has its error after `!`, a call without an outcome `?`. */
  tools: string[];
  answer: string;
  usage: string;
  session: string | null;
  user: string | null;
  models: string[];
  documents: number;
  status: string;
  notScorable: string | null;
  warnings: string[];
  parts: string;
  subs: Look[];
}

function look(run: AgentRun): Look {
  return {
    agent: run.agent,
    system: run.input.systemMessages
      .map(({ content }) =>
        typeof content === 'string' ? content : content.map((part) => part.text).join(''),
      )
      .join('\n'),
    input: run.input.inputMessages.map(textOfMessage).join('\n').trim(),
    remembered: run.input.rememberedMessages.length,
    tools: invocationParts(run.output).map(
      ({ toolInvocation: { toolName, state, errorText = '' } }) =>
        `${toolName}${state === 'output-error' ? `! ${errorText}` : state === 'result' ? '' : '?'}`,
    ),
    answer: answerText(run),
    usage: `${run.usage.inputTokens}/${run.usage.outputTokens}`,
    session: run.sessionId,
    user: run.userId,
    models: run.models,
    documents: run.documents.length,
    status: run.status,
    notScorable: run.notScorable?.code ?? null,
    warnings: [...new Set(run.warnings.map(({ code }) => code))],
    parts: run.output.flatMap((message) => message.content.parts.map((part) => part.type)).join(' '),
    subs: run.subRuns.map(look),
  };
}

const PARIS = 'What is the weather in Paris?';
const RAINY = 'It is 18°C and rainy in Paris right now.';
const SORRY = 'Sorry, the weather service is down right now.';
const SYSTEM = { system: 'You are a weather assistant.' };
const AROUND_SYSTEM = { system: expect.stringContaining(SYSTEM.system) as string };
const ONCE = { parts: 'tool-invocation step-start text' };

const ANSWERED = { input: PARIS, tools: ['get_weather'], answer: RAINY, usage: '193/31' };
/** The same story after an earlier conversation. */
const REMEMBERED = { ...ANSWERED, remembered: 2 };
const RETRIEVED = { input: PARIS, documents: 2, answer: RAINY };
const SILENT = { notScorable: 'no_content_captured' };
const FAILED = { tools: ['get_weather! weather service down'], answer: SORRY };
const SESSION = { session: 'sess-1', user: null };
const BOTH = { session: 'sess-1', user: 'user-9' };
const NEITHER = { session: null, user: null };
const TURNS = [
  { input: PARIS, remembered: 0 },
  { input: 'And in London?', remembered: 2 },
];

/** Recordings, and the runs of each. What `expected.json` says of a recording is compared by the test of the recordings. */
const STORIES: readonly (readonly [names: string, ...runs: object[]])[] = [
  ['adk-java-agent', { ...REMEMBERED, session: 'sess-1', models: ['gemini-2.5-flash'] }],
  ['agent-framework-py-agent', { ...REMEMBERED, ...NEITHER, ...SYSTEM }],
  ['autogen-py-oi', { ...REMEMBERED, ...NEITHER, ...SYSTEM, status: 'ok' }],
  ['genkit-go-agent', { ...REMEMBERED, ...NEITHER, agent: 'weatherFlow' }],
  ['google-adk-1.20-py-agent', { ...REMEMBERED, ...SESSION, ...AROUND_SYSTEM }],
  ['google-adk-py-latest', { ...REMEMBERED, ...BOTH, models: ['openai/gpt-4o-mini'] }],
  ['haystack-2-py-agent haystack-py-agent-oi', { ...REMEMBERED, ...NEITHER }],
  ['koog-agent', { ...REMEMBERED, agent: 'weather-agent', session: 'sess-1', subs: [] }],
  ['langchain4j-javaagent-agent otel-openai-java-chat', REMEMBERED],
  ['langfuse-py-openai', { ...REMEMBERED, ...BOTH, documents: 2 }],
  ['litellm-otel-py-chat', { ...REMEMBERED, session: null, user: 'user-9' }],
  ['mlflow-py-openai', { ...REMEMBERED, ...NEITHER, documents: 2 }],
  ['openinference-crewai-py-agent', { ...ANSWERED, ...BOTH, ...AROUND_SYSTEM, agent: 'weather_agent' }],
  ['openinference-langchain-py-agent', { ...REMEMBERED, ...BOTH, ...SYSTEM }],
  ['openinference-langchain-py-react strands-py-agent strands-py-latest', { ...REMEMBERED, ...BOTH }],
  [
    'openinference-llamaindex-py-agent openinference-llamaindex-py-stream',
    { ...REMEMBERED, ...BOTH, agent: null },
  ],
  ['openinference-openai-responses', ANSWERED],
  [
    'openinference-openai-agents-py-agent openinference-openai-agents-py-stream',
    { ...REMEMBERED, ...NEITHER, agent: 'weather_agent', parts: `reasoning ${ONCE.parts}` },
  ],
  [
    'otel-genai-openai-py-chat otel-genai-openai-py-span-only otel-openai-v2-py-ug04-default otel-openai-v2-py-latest-event-only otel-openai-v2-py-latest-span-only',
    { ...REMEMBERED, ...NEITHER, ...SYSTEM, agent: null },
  ],
  [
    'pydantic-ai-1.26-py-default pydantic-ai-1.26-py-v1 pydantic-ai-1.26-py-v2',
    { ...REMEMBERED, ...SYSTEM, usage: 'null/null', session: null },
  ],
  [
    'pydantic-ai-py-v2 pydantic-ai-py-v3 pydantic-ai-py-v5',
    { ...REMEMBERED, ...SESSION, ...SYSTEM, subs: [] },
  ],
  [
    'semantic-kernel-py-agent',
    { ...REMEMBERED, ...NEITHER, tools: ['P-get_weather'], models: ['gpt-4o-mini'] },
  ],
  ['spring-ai-1.1-agent', { ...REMEMBERED, subs: [] }],
  [
    'spring-ai-2-agent',
    {
      ...REMEMBERED,
      ...SYSTEM,
      ...ONCE,
      subs: [],
      models: ['gpt-4o-mini-2024-07-18'],
      warnings: ['roles_unknown'],
    },
  ],
  ['traceloop-py-langchain', { ...REMEMBERED, ...BOTH, subs: [] }],
  ['traceloop-py-openai', { ...REMEMBERED, ...BOTH, agent: 'weather_agent' }],
  ['traceloop-sdk-agent', { ...ANSWERED, agent: 'weather_agent' }],
];

type Trap = readonly [name: string, trap: string, ...runs: object[]];

/** Recordings of another story, with the trap in each. */
const TRAPS: readonly Trap[] = [
  [
    'adk-java-error',
    'a failure has no error status: what the model was told is its result',
    { tools: ['get_weather'], status: 'ok', answer: SORRY },
  ],
  ['autogen-py-native', 'nothing that was said is sent', { ...SILENT, usage: 'null/null', models: [] }],
  ['agent-framework-py-nocontent', 'content is off', SILENT],
  ['genkit-go-rag', 'the outer input is the final conversation', RETRIEVED],
  ['google-adk-py-agent', 'content is sent only when it is turned on twice', SILENT],
  ['google-adk-py-nocontent', 'content is off', SILENT],
  [
    'google-adk-py-error',
    'a failed run ends without an answer',
    { ...SILENT, status: 'error', tools: [expect.stringMatching(/^get_weather!/u)] },
  ],
  ['haystack-2-py-rag', 'documents are in a component’s output', { documents: 2, answer: RAINY }],
  ['koog-default', 'hidden content is no content', SILENT],
  ['langchain4j-javaagent-httpclient', 'its own HTTP client looks like nothing'],
  [
    'openinference-dspy-py-react',
    'equal kinds are nested, and the last call is a tool’s',
    { ...NEITHER, input: PARIS, tools: ['get_weather', 'finish'], answer: RAINY },
  ],
  ['openinference-langchain-py-rag', 'retrieved documents have neither id nor score', RETRIEVED],
  [
    'openinference-smolagents-py-tool',
    'the answer is the argument of a tool',
    { ...BOTH, input: PARIS, tools: ['get_weather', 'final_answer'], answer: RAINY },
  ],
  [
    'otel-genai-openai-py-nocontent',
    'records without a usable body are no messages',
    { ...SILENT, input: '', remembered: 0 },
    { ...SILENT, input: '', remembered: 0 },
  ],
  ['otel-openai-java-default', 'records have no content', SILENT, SILENT],
  ['pydantic-ai-py-retry', 'the error of a tool is in its event only', FAILED],
  ['spring-ai-2-default', 'content is off', SILENT],
  ['spring-ai-2-rag', 'documents are inside the prompt only', { answer: RAINY, documents: 0, tools: [] }],
  [
    'strands-py-error',
    'the tool failed',
    { tools: [expect.stringMatching(/^get_weather!/u)], answer: SORRY },
  ],
];

/** Recordings with several agents or turns: what `expected.json` does not say of them. */
const SEVERAL: readonly Trap[] = [
  ['autogen-py-s1', 'traces that only build are no run', { agent: 'travel_planner' }],
  [
    'autogen-py-s2',
    'messages between agents are no part of a run',
    { input: PARIS, remembered: 0, parts: `tool-invocation step-start ${ONCE.parts}` },
  ],
  [
    'google-adk-py-s1',
    'a sub-run has its top run’s session',
    { session: 'sess-1', subs: [{ session: 'sess-1' }] },
  ],
  [
    'google-adk-py-s1-oi',
    'calls merged into one span come in order, and usage is the tree’s',
    { ...ONCE, usage: '207/26' },
  ],
  ['google-adk-py-s2', 'a framework’s texts are not the user’s', { input: PARIS, remembered: 0 }],
  ['openai-agents-py-s1-logfire', 'a session has another key', { session: 'sess-1' }],
  ['openinference-langchain-py-s2', 'exceptions on spans that ended well are no errors', { status: 'ok' }],
  ['openinference-langchain-py-s4b', 'a checkpointed conversation is remembered', ...TURNS],
  ['openinference-openai-agents-py-s4', 'one envelope holds two turns', ...TURNS],
];

function listRuns(folder: 'spans' | 'spans-multi', name: string): Look[] {
  return readTraces(recordedSpans(folder, name)).flatMap(({ runs }) => runs.map(look));
}

const listTraps = (traps: readonly Trap[]) =>
  traps.map(([name, trap, ...runs]) => [name, trap, runs] as const);

describe('a recording of one agent', () => {
  it.each(STORIES.flatMap(([names, ...runs]) => names.split(' ').map((name) => [name, runs] as const)))(
    '%s tells the whole story',
    (name, runs) => {
      expect(listRuns('spans', name)).toMatchObject(runs);
    },
  );

  it.each(listTraps(TRAPS))('%s: %s', (name, _trap, runs) => {
    expect(listRuns('spans', name)).toMatchObject(runs);
  });

  it('has no span that is not understood, with operations beyond the specification', () => {
    const readings = readTraces(recordedSpans('spans', 'traceloop-py-langchain'));
    expect(readings.flatMap(({ notUnderstood }) => notUnderstood)).toEqual([]);
  });
});

describe('a recording of several agents or turns', () => {
  it.each(listTraps(SEVERAL))('%s: %s', (name, _trap, runs) => {
    expect(listRuns('spans-multi', name)).toMatchObject(runs);
  });
});

it.each([
  ['spans', 'langchain4j-javaagent-httpclient'],
  ['spans-multi', 'autogen-py-s1'],
] as const)('%s/%s says of traces without an agent that they have none', (folder, name) => {
  const empty = readTraces(recordedSpans(folder, name)).filter(({ runs }) => runs.length === 0);
  expect(empty.map(({ notScorable }) => notScorable?.code)).toEqual([
    'no_agent_or_llm_span',
    'no_agent_or_llm_span',
  ]);
});
