import { expect } from 'vitest';
import { readTraces } from '../../../../src/conventions/index.ts';
import { chatMessage } from '../../builders/spans.ts';
import { invocationParts } from '../facts.ts';
import { recordedSpans } from '../recorded-spans.ts';
import { CHAT, facts } from '../quirks/span-facts.ts';
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

function listErrors(name: string): unknown[] {
  return readTraces(recordedSpans('spans', name)).flatMap(({ runs }) =>
    runs.flatMap((run) => invocationParts(run.output).map((part) => part.toolInvocation.errorText)),
  );
}

function notUnderstoodIn(name: string): unknown[] {
  return readTraces(recordedSpans('spans', name)).flatMap(({ notUnderstood }) => notUnderstood);
}

const PYDANTIC = ['pydantic-ai-py-v2', 'pydantic-ai-py-v3', 'pydantic-ai-py-v5'];

/** Differences between Python emitters and their description, by its sections. */
export const pythonSections: readonly Fact[] = [
  [
    '§0.2 records without a usable body are no messages',
    () => single('otel-genai-openai-py-nocontent'),
    [
      { ...SILENT, input: '', remembered: 0 },
      { ...SILENT, input: '', remembered: 0 },
    ],
  ],
  [
    '§0.3 Python’s repr is alive',
    ...each(REMEMBERED, 'openinference-llamaindex-py-agent', 'haystack-py-agent-oi', 'haystack-2-py-agent'),
  ],
  [
    '§1.2 records of one message each, from the helper’s older version',
    ...each(REMEMBERED, 'otel-openai-v2-py-ug04-default'),
  ],
  [
    '§1.3 the successor’s scope, and the scope of its helper, are read alike',
    ...each(REMEMBERED, 'otel-genai-openai-py-chat', 'otel-openai-v2-py-latest-event-only'),
  ],
  [
    '§1.4 operations beyond the specification make no runs',
    () => [...single('traceloop-py-langchain'), ...notUnderstoodIn('traceloop-py-langchain')],
    [{ ...REMEMBERED, subs: [] }],
  ],
  [
    '§1.5 session and user under other keys, and in records only',
    () => [
      ...several('openai-agents-py-s1-logfire'),
      ...single('google-adk-py-latest'),
      ...single('litellm-otel-py-chat'),
    ],
    [{ session: 'sess-1' }, { user: 'user-9' }, { user: 'user-9' }],
  ],
  [
    '§1.6 names that are null, and reasons spelled in two ways',
    () => [
      facts({
        ...CHAT,
        'gen_ai.response.finish_reasons': '["tool_calls"]',
        'gen_ai.output.messages': [
          { ...(chatMessage('assistant', 'Rain.') as object), name: null, finish_reason: 'tool_call' },
        ],
      }),
    ],
    [{ finishReason: 'tool_calls', output: [{ type: 'text', text: 'Rain.' }] }],
  ],
  [
    '§1.8 content by reference is told apart',
    () =>
      ['gen_ai.input.messages_ref', 'gen_ai.output.messages_ref', 'gen_ai.system_instructions_ref'].map(
        (key) => facts({ ...CHAT, [key]: 's3://x' }),
      ),
    Array.from({ length: 3 }, () => ({ contentByReference: true })),
  ],
  ['§2.1 an agent without children is read from its own texts', ...each(REMEMBERED, 'haystack-py-agent-oi')],
  [
    '§2.2 a message told twice is one, and roles have further names',
    () => [
      ...single('openinference-openai-agents-py-agent'),
      ...single('autogen-py-oi'),
      ...single('openinference-smolagents-py-tool'),
    ],
    [{ input: PARIS }, { input: PARIS, tools: ['get_weather'] }, { input: PARIS }],
  ],
  [
    '§2.3 arguments and results of tools in every shape',
    ...each(
      { tools: expect.arrayContaining(['get_weather']) as string[] },
      'openinference-langchain-py-agent',
      'openinference-llamaindex-py-agent',
      'openinference-openai-agents-py-stream',
      'openinference-dspy-py-react',
      'openinference-smolagents-py-tool',
    ),
  ],
  [
    '§2.3 retrieved documents have neither id nor score',
    ...each({ documents: 2 }, 'openinference-langchain-py-rag'),
  ],
  [
    '§2.4 LangChain’s root is an agent, and its ids are there',
    ...each(
      { ...REMEMBERED, ...BOTH },
      'openinference-langchain-py-agent',
      'openinference-langchain-py-react',
    ),
  ],
  [
    '§2.4 CrewAI’s model calls come from the client’s instrumentation',
    ...each(ANSWERED, 'openinference-crewai-py-agent'),
  ],
  [
    '§2.4 LlamaIndex has no agent, and its root not the question',
    ...each({ ...ANSWERED, agent: null }, 'openinference-llamaindex-py-agent'),
  ],
  [
    '§2.4 OpenAI Agents’ reasoning is a message of its own',
    ...each(
      { ...REMEMBERED, ...NEITHER, parts: 'reasoning tool-invocation step-start text' },
      'openinference-openai-agents-py-agent',
    ),
  ],
  [
    '§2.4 streams tell their tokens',
    ...each(
      { usage: '193/31' },
      'openinference-openai-agents-py-stream',
      'openinference-llamaindex-py-stream',
    ),
  ],
  ['§3.2 names of spans are the old ones', ...each(REMEMBERED, 'traceloop-py-openai')],
  [
    '§3.4 one trace with proper messages and usage, and the workflow’s name its own',
    () => [...single('traceloop-py-openai'), ...single('traceloop-sdk-agent')],
    [
      { ...REMEMBERED, agent: 'weather_agent' },
      { ...ANSWERED, agent: 'weather_agent' },
    ],
  ],
  ['§6 formats 2 to 6 of Pydantic AI 2', ...each({ ...REMEMBERED, subs: [] }, ...PYDANTIC)],
  [
    '§6 the index of new messages counts Pydantic’s own messages',
    ...each({ input: PARIS, remembered: 2 }, ...PYDANTIC),
  ],
  [
    '§6 a wrapper of tools between agent and tool',
    ...each({ tools: ['get_weather'] }, 'pydantic-ai-1.26-py-v1', 'pydantic-ai-1.26-py-v2'),
  ],
  [
    '§6 a tool’s error is in its event only',
    () => listErrors('pydantic-ai-py-retry'),
    ['weather service down'],
  ],
  [
    '§7.1 Langfuse has the provider’s own counts, and calls by id',
    ...each({ ...REMEMBERED, usage: '193/31' }, 'langfuse-py-openai'),
  ],
  ['§7.3 MLflow’s values are JSON', ...each({ ...REMEMBERED, ...NEITHER }, 'mlflow-py-openai')],
  [
    '§7.5 OpenLIT’s root answers in bare text',
    () => described('openlit'),
    [{ answer: 'Rain.', system: 'Be brief.' }],
  ],
  ['§8.1 Google ADK 1', ...each({ ...REMEMBERED, session: 'sess-1' }, 'google-adk-1.20-py-agent')],
  [
    '§8.1 Google ADK 2 sends content only when asked twice, and ends a failed run without an answer',
    () => [
      ...single('google-adk-py-latest'),
      ...single('google-adk-py-agent'),
      ...single('google-adk-py-error'),
    ],
    [REMEMBERED, SILENT, { ...SILENT, status: 'error', tools: ['get_weather!'] }],
  ],
  [
    '§8.1 Google ADK’s result of what is no dictionary stays in its wrapper, as the model saw it',
    () =>
      readTraces(recordedSpans('spans-multi', 'google-adk-py-s1')).flatMap(({ runs }) =>
        runs.flatMap((run) => invocationParts(run.output).map((part) => part.toolInvocation.result)),
      ),
    [{ result: 'It is 18°C and rainy in Paris.' }],
  ],
  ['§8.2 Strands’ answer ends with its text', ...each(REMEMBERED, 'strands-py-agent', 'strands-py-latest')],
  [
    '§8.4 Agent Framework’s second conversation id is a response’s',
    ...each({ ...REMEMBERED, session: null }, 'agent-framework-py-agent'),
  ],
  [
    '§8.4 Semantic Kernel in records, beside others',
    ...each({ ...REMEMBERED, tools: ['P-get_weather'] }, 'semantic-kernel-py-agent'),
  ],
  [
    '§8.4 AutoGen itself sends nothing that was said',
    ...each({ ...SILENT, models: [] }, 'autogen-py-native'),
  ],
  [
    '§8.5 Logfire’s names are templates',
    () => several('openai-agents-py-s2-logfire'),
    [{ tools: ['transfer_to_weather_agent>', 'get_weather'], answer: RAINY }],
  ],
  ['§8.10 Haystack', ...each(ANSWERED, 'haystack-2-py-agent')],
  ['§8.14 LiteLLM loses the call', ...each(ANSWERED, 'litellm-otel-py-chat')],
  [
    '§8.16 smolagents and DSPy end with a tool',
    () => [...single('openinference-smolagents-py-tool'), ...single('openinference-dspy-py-react')],
    [
      { tools: ['get_weather', 'final_answer'], answer: RAINY },
      { tools: ['get_weather', 'finish'], answer: RAINY },
    ],
  ],
];
