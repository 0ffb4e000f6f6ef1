import { describe, expect, it } from 'vitest';
import { readTraces } from '../../../src/conventions/index.ts';
import type { AgentRun } from '../../../src/domain/agent-run.ts';
import { answerText, invocationParts, textOfMessage } from '../../support/facts.ts';
import { recordedSpans } from '../../support/recorded-spans.ts';

/** What is looked at in a run; the rest of it is compared with its expectation elsewhere. */
interface Look {
  agent: string | null;
  system: string;
  input: string;
  remembered: number;
  /** Names; a failed one has a bang, a transfer an arrow, one without an outcome a question mark. */
  tools: string[];
  answer: string;
  usage: string;
  session: string | null;
  parts: string;
  subs: Look[];
}

const MARKS = { result: '', call: '?', 'output-error': '!', 'output-denied': '-' } as Record<string, string>;

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
      ({ toolInvocation: call, handoff }) =>
        `${call.toolName}${handoff === true ? '>' : (MARKS[call.state] ?? call.state)}`,
    ),
    answer: answerText(run),
    usage: `${run.usage.inputTokens}/${run.usage.outputTokens}`,
    session: run.sessionId,
    parts: run.output.flatMap((message) => message.content.parts.map((part) => part.type)).join(' '),
    subs: run.subRuns.map(look),
  };
}

function runsOf(folder: 'spans' | 'spans-multi', name: string): Look[] {
  return readTraces(recordedSpans(folder, name)).flatMap(({ runs }) => runs.map(look));
}

const several = (name: string): Look[] => runsOf('spans-multi', name);
const single = (name: string): Look[] => runsOf('spans', name);

const PARIS = 'What is the weather in Paris?';
const PLAN = 'Plan a day in Paris.';
const LOUVRE = 'Visit the Louvre: it is 18°C and rainy in Paris.';
const RAINY = 'It is 18°C and rainy in Paris right now.';
const WEATHER = { agent: 'weather_agent', input: PARIS, tools: ['get_weather'] };
const PLANNER = { agent: 'travel_planner', input: PLAN, answer: LOUVRE, subs: [WEATHER] };
const TRANSFER = ['transfer_to_weather_agent>', 'get_weather'];
const HANDOFF = { input: PARIS, tools: TRANSFER, answer: RAINY, usage: '243/39' };
const TURNS = [
  { input: PARIS, remembered: 0 },
  { input: 'And in London?', remembered: 2 },
];
const ANSWERED = { input: PARIS, tools: ['get_weather'], answer: RAINY, usage: '193/31' };

type Row = [fact: string, runs: () => unknown[], expected: unknown[]];

const multi: Row[] = [
  ['1 an envelope without I/O is no run', () => several('openinference-openai-agents-py-s1'), [PLANNER]],
  [
    '2 a kind guessed from a name does not make the root',
    () => [...several('openinference-langchain-py-s1'), ...several('openinference-langchain-py-s1-named')],
    [PLANNER, { ...PLANNER, agent: 'planner_agent' }],
  ],
  [
    '3 model calls below a tool are a sub-run',
    () => [...several('openinference-crewai-py-s1-delegate'), ...several('ai-sdk-v6-s1')],
    [
      {
        agent: 'travel_planner',
        tools: ['delegate_work_to_coworker'],
        subs: [{ agent: 'weather_agent', tools: ['get_weather'] }],
      },
      { agent: 'travel-planner', tools: ['ask_weather'], subs: [{ tools: ['get_weather'] }] },
    ],
  ],
  [
    '4 a sub-agent is bound to its call wherever it sits',
    () => several('openinference-langchain-py-s1p'),
    [
      {
        tools: ['ask_weather', 'ask_weather'],
        subs: [{ input: PARIS }, { input: 'What is the weather in London?' }],
      },
    ],
  ],
  [
    '5 one envelope means a handoff or two turns',
    () => [...several('openinference-openai-agents-js-s2'), ...several('openinference-openai-agents-py-s4')],
    [HANDOFF, ...TURNS],
  ],
  ['6 a step of kind LLM is no model call', () => single('openinference-llamaindex-py-agent'), [ANSWERED]],
  [
    '7 the answer of a graph is the last member’s',
    () => [...several('strands-py-graph'), ...several('agent-framework-py-sw')],
    [
      { input: PARIS, answer: LOUVRE },
      { input: PARIS, answer: LOUVRE },
    ],
  ],
  ['8 doubled spans are one', () => several('autogen-py-s1'), [PLANNER]],
  [
    '9 traces that only build are no run',
    () => [
      readTraces(recordedSpans('spans-multi', 'autogen-py-s1'))
        .filter(({ runs }) => runs.length === 0)
        .map(({ notScorable }) => notScorable?.code),
    ],
    [['no_agent_or_llm_span', 'no_agent_or_llm_span']],
  ],
  [
    '10 a network’s member is not its answer',
    () => several('mastra-otel-exporter-s1-net'),
    [{ agent: 'weather-agent', input: PARIS }],
  ],
  [
    '11 calls merged into one span come in order',
    () => several('google-adk-py-s1-oi'),
    [{ answer: LOUVRE, tools: ['weather_agent'], usage: '207/26', parts: 'tool-invocation step-start text' }],
  ],
  [
    '12 tools and sub-runs stand below model calls',
    () => several('ai-sdk-v7-s1-legacy'),
    [{ tools: ['ask_weather'], subs: [{ tools: ['get_weather'] }] }],
  ],
  [
    '13 a failed attempt is dropped',
    () =>
      [
        'ai-sdk-v6-s6x429',
        'pydantic-ai-py-s6x429',
        'strands-py-s6x429',
        'openinference-langchain-py-s6',
      ].flatMap(several),
    [ANSWERED, ANSWERED, ANSWERED, ANSWERED],
  ],
  [
    '14 tools pair without ids and by other names',
    () => several('openinference-openai-agents-py-s1p'),
    [{ tools: ['ask_weather', 'ask_weather'] }],
  ],
  [
    '15 a transfer has no arguments and no answer',
    () => several('openinference-openai-agents-js-s2'),
    [{ subs: [{ tools: ['transfer_to_weather_agent>'], answer: '' }, WEATHER] }],
  ],
  [
    '16 indexes of calls have gaps',
    () => several('openinference-openai-agents-py-s3'),
    [{ tools: ['get_weather', 'get_weather'] }],
  ],
  [
    '17 what is said after a transfer is no answer',
    () => several('google-adk-py-s2'),
    [{ answer: RAINY, subs: [{ answer: '' }, { answer: RAINY }] }],
  ],
  [
    '18 the question stands before the transfer',
    () => [...several('openinference-langchain-py-s2'), ...several('openai-agents-py-s2-logfire')],
    [HANDOFF, HANDOFF],
  ],
  [
    '19 a framework’s texts are not the user’s',
    () => [...several('google-adk-py-s2'), ...several('autogen-py-s2')],
    [
      { input: PARIS, remembered: 0 },
      { input: PARIS, remembered: 0 },
    ],
  ],
  [
    '20 stored messages are no input',
    () => several('mastra-otel-exporter-s1'),
    [{ input: PLAN, subs: [{ input: PARIS }] }],
  ],
  [
    '21 a sub-run has its own system text',
    () => several('mastra-otel-exporter-s1'),
    [{ system: 'You are a travel planner.', subs: [{ system: 'You are a weather assistant.' }] }],
  ],
  ['22 a checkpointed conversation is remembered', () => several('openinference-langchain-py-s4b'), TURNS],
  [
    '23 a sub-run’s session is its top run’s',
    () => several('google-adk-py-s1'),
    [{ session: 'sess-1', subs: [{ session: 'sess-1' }] }],
  ],
  [
    '24 usage is the tree’s, and each sub-run has its own',
    () => several('strands-py-s1'),
    [{ usage: '348/63', subs: [{ usage: '193/31' }] }],
  ],
  [
    '25 exceptions on spans that ended well are no errors',
    () => [
      readTraces(recordedSpans('spans-multi', 'openinference-langchain-py-s2')).flatMap(({ runs }) =>
        runs.map((run) => run.status),
      ),
    ],
    [['ok']],
  ],
  ['26 span names are templates', () => several('openai-agents-py-s1-logfire'), [PLANNER]],
  [
    '27 a span of kind LLM may be none, or several',
    () => [...single('openinference-llamaindex-py-stream'), ...several('google-adk-py-s1-oi')],
    [ANSWERED, { tools: ['weather_agent'] }],
  ],
  [
    '28 other operations are neither agents, calls nor tools',
    () => several('strands-py-graph'),
    [{ tools: ['get_weather'], subs: [{ agent: 'weather_agent' }, { agent: 'travel_planner', tools: [] }] }],
  ],
  [
    '29 messages between agents are no part of a run',
    () => several('autogen-py-s2'),
    [{ tools: TRANSFER, parts: 'tool-invocation step-start tool-invocation step-start text' }],
  ],
  [
    '30 members are in order of their start',
    () => several('agent-framework-py-sw'),
    [{ subs: [{ agent: 'weather_agent' }, { agent: 'travel_planner' }] }],
  ],
];

/** A7 (a call's tool named on the model call's span) is the case `openlit` of the described spans. */
const python: Row[] = [
  [
    'A1 the trace’s span is no agent',
    () => single('openinference-openai-agents-py-agent'),
    [{ agent: 'weather_agent', ...ANSWERED }],
  ],
  [
    'A2 what is named an agent may be a model call',
    () => several('google-adk-py-s1-oi'),
    [{ agent: 'travel_planner' }],
  ],
  ['A3 arguments and results are wrapped', () => single('traceloop-py-langchain'), [ANSWERED]],
  ['A4 ids of calls and results never match', () => single('openinference-openai-responses'), [ANSWERED]],
  ['A5 two events of one name', () => single('strands-py-latest'), [{ ...ANSWERED, remembered: 2 }]],
  [
    'A6 attributes and records say the same',
    () => single('agent-framework-py-agent'),
    [{ ...ANSWERED, remembered: 2 }],
  ],
  [
    'A8 equal kinds are nested',
    () => [...single('openinference-dspy-py-react'), ...single('openinference-llamaindex-py-agent')],
    [{ tools: ['get_weather', 'finish'], answer: RAINY }, ANSWERED],
  ],
  [
    'A9 partial messages on chains are no input',
    () => [...single('openinference-langchain-py-agent'), ...single('openinference-langchain-py-react')],
    [{ input: PARIS, remembered: 2 }, { input: PARIS }],
  ],
  [
    'A10 a crew’s inputs are not the question',
    () => single('openinference-crewai-py-agent'),
    [{ tools: ['get_weather'], answer: RAINY }],
  ],
  [
    'A11 an exception is no error where all went well',
    () => [
      readTraces(recordedSpans('spans', 'autogen-py-oi')).flatMap(({ runs }) =>
        runs.map((run) => run.status),
      ),
    ],
    [['ok']],
  ],
  ['A12 an error’s text is the tool’s', () => single('pydantic-ai-py-retry'), [{ tools: ['get_weather!'] }]],
  [
    '§1 content is in records, on spans, or in both',
    () =>
      [
        'otel-openai-v2-py-ug04-default',
        'otel-openai-v2-py-latest-event-only',
        'otel-openai-v2-py-latest-span-only',
        'otel-genai-openai-py-span-only',
        'otel-genai-openai-py-chat',
      ].flatMap(single),
    Array.from({ length: 5 }, () => ANSWERED),
  ],
  [
    '§2 arguments and results of tools in every shape',
    () =>
      [
        'openinference-langchain-py-agent',
        'openinference-llamaindex-py-agent',
        'openinference-openai-agents-py-stream',
      ].flatMap(single),
    [ANSWERED, ANSWERED, ANSWERED],
  ],
  [
    '§3 one trace with proper messages',
    () => [...single('traceloop-py-openai'), ...single('traceloop-sdk-agent')],
    [ANSWERED, ANSWERED],
  ],
  [
    '§6 formats 1 to 6',
    () =>
      [
        'pydantic-ai-py-v2',
        'pydantic-ai-py-v3',
        'pydantic-ai-py-v5',
        'pydantic-ai-1.26-py-v1',
        'pydantic-ai-1.26-py-v2',
      ].flatMap(single),
    Array.from({ length: 5 }, () => ({ input: PARIS, tools: ['get_weather'], answer: RAINY, remembered: 2 })),
  ],
  ['§7.1 usage is the provider’s own', () => single('langfuse-py-openai'), [ANSWERED]],
  ['§7.3 every value is JSON', () => single('mlflow-py-openai'), [ANSWERED]],
  [
    '§8.1 Google ADK 1 and 2',
    () => [...single('google-adk-1.20-py-agent'), ...single('google-adk-py-latest')],
    [ANSWERED, ANSWERED],
  ],
  ['§8.2 Strands’ answer ends with its text', () => single('strands-py-agent'), [ANSWERED]],
  [
    '§8.4 Semantic Kernel in records, beside others',
    () => single('semantic-kernel-py-agent'),
    [{ ...ANSWERED, tools: ['P-get_weather'] }],
  ],
  ['§8.10 Haystack', () => single('haystack-2-py-agent'), [ANSWERED]],
  ['§8.14 LiteLLM loses the call', () => single('litellm-otel-py-chat'), [ANSWERED]],
  [
    '§8.16 smolagents and its final answer',
    () => single('openinference-smolagents-py-tool'),
    [{ tools: ['get_weather', 'final_answer'], answer: RAINY }],
  ],
];

describe.each(Object.entries({ 'several agents': multi, 'Python emitters': python }))(
  'facts of %s',
  (_, rows) => {
    it.each(rows)('%s', (_fact, runs, expected) => {
      expect(runs()).toMatchObject(expected);
    });
  },
);
