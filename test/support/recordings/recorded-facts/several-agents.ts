import { readTraces } from '../../../../src/conventions/index.ts';
import { recordedSpans } from '../recorded-spans.ts';
import {
  several,
  single,
  PARIS,
  PLAN,
  LOUVRE,
  RAINY,
  WEATHER,
  PLANNER,
  TRANSFER,
  HANDOFF,
  TURNS,
  ANSWERED,
  type Fact,
} from './look.ts';

/** Numbered facts of traces with several agents. */
export const severalAgents: readonly Fact[] = [
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
