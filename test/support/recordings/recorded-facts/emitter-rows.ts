import { expect } from 'vitest';
import {
  ANSWERED,
  BOTH,
  described,
  each,
  type Fact,
  NEITHER,
  PARIS,
  RAINY,
  REMEMBERED,
  several,
  SILENT,
  single,
} from './look.ts';

const SORRY = 'Sorry, the weather service is down right now.';
const SYSTEM = 'You are a weather assistant.';
const ONLY_SESSION = { session: 'sess-1', user: null };

/** Places of facts in each family of Python emitters, by the family's name. */
export const emitterRows: readonly Fact[] = [
  [
    'pydantic-ai 2.68',
    () =>
      ['pydantic-ai-py-v2', 'pydantic-ai-py-v3', 'pydantic-ai-py-v5', 'pydantic-ai-py-retry'].flatMap(single),
    [
      ...Array.from({ length: 3 }, () => ({ ...REMEMBERED, ...ONLY_SESSION, system: SYSTEM })),
      { tools: ['get_weather!'], answer: SORRY },
    ],
  ],
  [
    'pydantic-ai 1.26',
    ...each(
      { ...REMEMBERED, system: SYSTEM, usage: 'null/null', session: null },
      'pydantic-ai-1.26-py-default',
      'pydantic-ai-1.26-py-v1',
      'pydantic-ai-1.26-py-v2',
    ),
  ],
  [
    'otel openai-v2 and genai-openai',
    ...each(
      { ...REMEMBERED, ...NEITHER, agent: null, system: SYSTEM },
      'otel-openai-v2-py-ug04-default',
      'otel-openai-v2-py-latest-event-only',
      'otel-openai-v2-py-latest-span-only',
      'otel-genai-openai-py-chat',
      'otel-genai-openai-py-span-only',
    ),
  ],
  [
    'OI langchain',
    () => ['openinference-langchain-py-agent', 'openinference-langchain-py-rag'].flatMap(single),
    [
      { ...REMEMBERED, ...BOTH, system: SYSTEM },
      { input: PARIS, documents: 2, answer: RAINY },
    ],
  ],
  [
    'OI llama-index',
    ...each(
      { ...REMEMBERED, ...BOTH, agent: null },
      'openinference-llamaindex-py-agent',
      'openinference-llamaindex-py-stream',
    ),
  ],
  [
    'OI crewai',
    ...each(
      { ...ANSWERED, ...BOTH, agent: 'weather_agent', system: expect.stringContaining(SYSTEM) as string },
      'openinference-crewai-py-agent',
    ),
  ],
  [
    'ADK 2.13',
    () => ['google-adk-py-latest', 'google-adk-py-agent', 'google-adk-py-nocontent'].flatMap(single),
    [{ ...REMEMBERED, ...BOTH, models: ['openai/gpt-4o-mini'] }, SILENT, SILENT],
  ],
  [
    'ADK 1.20',
    ...each(
      { ...REMEMBERED, ...ONLY_SESSION, system: expect.stringContaining(SYSTEM) as string },
      'google-adk-1.20-py-agent',
    ),
  ],
  [
    'strands',
    () => ['strands-py-agent', 'strands-py-latest', 'strands-py-error'].flatMap(single),
    [
      { ...REMEMBERED, ...BOTH },
      { ...REMEMBERED, ...BOTH },
      { tools: ['get_weather!'], answer: SORRY },
    ],
  ],
  [
    'OI openai-agents',
    ...each(
      { ...REMEMBERED, ...NEITHER, parts: 'reasoning tool-invocation step-start text' },
      'openinference-openai-agents-py-agent',
      'openinference-openai-agents-py-stream',
    ),
  ],
  [
    'logfire openai-agents',
    () => several('openai-agents-py-s1-logfire'),
    [{ agent: 'travel_planner', session: 'sess-1', subs: [{ agent: 'weather_agent', input: PARIS }] }],
  ],
  [
    'OI smolagents',
    ...each(
      { ...BOTH, input: PARIS, tools: ['get_weather', 'final_answer'], answer: RAINY },
      'openinference-smolagents-py-tool',
    ),
  ],
  ['traceloop', ...each({ ...REMEMBERED, ...BOTH }, 'traceloop-py-openai', 'traceloop-py-langchain')],
  ['langfuse', ...each({ ...REMEMBERED, ...BOTH, documents: 2 }, 'langfuse-py-openai')],
  [
    'agent-framework',
    () => ['agent-framework-py-agent', 'agent-framework-py-nocontent'].flatMap(single),
    [{ ...REMEMBERED, ...NEITHER, system: SYSTEM }, SILENT],
  ],
  [
    'semantic-kernel',
    ...each(
      { ...REMEMBERED, ...NEITHER, tools: ['P-get_weather'], models: ['gpt-4o-mini'] },
      'semantic-kernel-py-agent',
    ),
  ],
  [
    'haystack 2',
    () => ['haystack-2-py-agent', 'haystack-2-py-rag'].flatMap(single),
    [
      { ...REMEMBERED, ...NEITHER },
      { documents: 2, answer: RAINY },
    ],
  ],
  ['haystack 3 (OI)', ...each({ ...REMEMBERED, ...NEITHER }, 'haystack-py-agent-oi')],
  ['mlflow', ...each({ ...REMEMBERED, ...NEITHER, documents: 2 }, 'mlflow-py-openai')],
  ['litellm', ...each({ ...REMEMBERED, session: null, user: 'user-9' }, 'litellm-otel-py-chat')],
  [
    'autogen',
    () => ['autogen-py-oi', 'autogen-py-native'].flatMap(single),
    [
      { ...REMEMBERED, ...NEITHER, system: SYSTEM },
      { ...SILENT, usage: 'null/null' },
    ],
  ],
  [
    'dspy',
    ...each(
      { ...NEITHER, input: PARIS, tools: ['get_weather', 'finish'], answer: RAINY },
      'openinference-dspy-py-react',
    ),
  ],
  [
    'agno',
    () => described('agno-2025-06'),
    [{ session: '35cc6c90', tools: ['duckduckgo_search'], answer: 'Visit Trends24.' }],
  ],
  ['openlit', () => described('openlit'), [{ user: 'u-1', system: 'Be brief.', answer: 'Rain.' }]],
];
