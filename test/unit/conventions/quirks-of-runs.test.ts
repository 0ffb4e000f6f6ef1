import { describe, expect, it } from 'vitest';
import { readTrace, readTraces } from '../../../src/conventions/index.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import type { LogRecord, Span } from '../../../src/domain/trace/span.ts';
import {
  agentSpan,
  buildLog,
  buildSpan,
  buildTrace,
  chatMessage,
  chatSpan,
  type SpanOptions,
  toolCall,
  toolResponse,
  toolSpan,
} from '../../support/builders/spans.ts';
import { answerText, invocationParts } from '../../support/recordings/facts.ts';
import { recordedSpans } from '../../support/recordings/recorded-spans.ts';

/** Quirk: its name, a function that reads the value, and the expected value. */
type Quirk = [quirk: string, actual: () => unknown, expected: unknown];

const QUESTION = chatMessage('user', 'Weather?');
const CALL = chatMessage('assistant', toolCall('1', 'get', { a: 1 }));
const RESULT = chatMessage('tool', toolResponse('1', { ok: true }));
const ANSWER = chatMessage('assistant', 'Rain.');

function listRuns(spans: Span[], logs: LogRecord[] = []): AgentRun[] {
  return readTrace(buildTrace(spans, logs)).runs;
}

function recorded(name: string, folder: 'spans' | 'spans-multi' = 'spans'): AgentRun[] {
  return readTraces(recordedSpans(folder, name)).flatMap(({ runs }) => runs);
}

/** Lists the tool calls of these runs: name, arguments and outcome. */
function listCalls(runs: readonly AgentRun[]): unknown[] {
  return runs
    .flatMap((run) => invocationParts(run.output))
    .map(({ toolInvocation: call }) => [
      call.toolName,
      call.args,
      call.result ?? call.errorText ?? call.state,
    ]);
}

function listAnswers(runs: readonly AgentRun[]): string[] {
  return runs.map(answerText);
}

/** Builds a run of two model calls with a tool span between them. `parent` is the parent of the tool span. */
function around(parent: string, ...more: Span[]): Span[] {
  return [
    agentSpan('agent', {}, { lasts: 100 }),
    chatSpan('c1', { input: [QUESTION], output: [CALL] }, { parent: 'agent', at: 1, lasts: 30 }),
    toolSpan('t', { id: '1', name: 'get', args: { a: 1 }, result: { ok: true } }, { parent, at: 20 }),
    chatSpan('c2', { input: [QUESTION, CALL, RESULT], output: [ANSWER] }, { parent: 'agent', at: 40 }),
    ...more,
  ];
}

function chats(...outputs: [input: unknown[], output: unknown[]][]): Span[] {
  return [
    agentSpan('agent', {}, { lasts: 100 }),
    ...outputs.map(([input, output], i) =>
      chatSpan(`c${i}`, { input, output }, { parent: 'agent', at: 1 + i * 20 }),
    ),
  ];
}

function tool(call: Parameters<typeof toolSpan>[1], options: SpanOptions = {}): Span {
  return toolSpan('t', call, { parent: 'agent', at: 10, ...options });
}

const GET = ['get', { a: 1 }, { ok: true }];

/** Spans stand in another structure than the run. */
const structure: readonly Quirk[] = [
  ...['c1', 'agent', 'step'].map((parent): Quirk => [
    `the tool is below ${parent}`,
    () =>
      listCalls(
        listRuns(
          around(
            parent,
            buildSpan('step', { 'openinference.span.kind': 'CHAIN' }, { parent: 'agent', at: 15 }),
          ),
        ),
      ),
    [GET],
  ]),
  ['nothing is nested', () => recorded('traceloop-langchain').length, 1],
  [
    'the parent is missing',
    () =>
      listCalls(
        listRuns(
          around('agent').map((span) =>
            span.name === 'agent' ? { ...span, parentSpanId: 'ffffffffffffffff' } : span,
          ),
        ),
      ),
    [GET],
  ],
  [
    'two spans tell of one call',
    () =>
      listRuns([
        agentSpan('agent', {}, { lasts: 100 }),
        ...['c', 'd'].map((id, i) =>
          chatSpan(
            id,
            {
              input: [QUESTION],
              output: [ANSWER],
              attributes: { 'gen_ai.response.id': 'r', 'gen_ai.usage.input_tokens': 5 },
            },
            { parent: 'agent', at: 1 + i },
          ),
        ),
      ]).map((run) => [answerText(run), run.usage.inputTokens]),
    [['Rain.', 5]],
  ],
  [
    'usage is repeated above',
    () =>
      listRuns([
        agentSpan('agent', { 'gen_ai.usage.input_tokens': 5 }, { lasts: 100 }),
        chatSpan(
          'c',
          { output: [ANSWER], attributes: { 'gen_ai.usage.input_tokens': 5 } },
          { parent: 'agent' },
        ),
      ]).map((run) => run.usage.inputTokens),
    [5],
  ],
  [
    'agents are nested',
    () =>
      recorded('strands-py-s1', 'spans-multi').map((run) => [run.agent, run.subRuns.map((sub) => sub.agent)]),
    [['travel_planner', ['weather_agent']]],
  ],
  [
    'calls run at the same time',
    () =>
      listCalls(
        listRuns([
          ...chats([
            [QUESTION],
            [chatMessage('assistant', toolCall('1', 'get', { a: 1 }), toolCall('2', 'get', { a: 2 }))],
          ]),
          ...['2', '1'].map((id) =>
            toolSpan(`t${id}`, { id, name: 'get', result: `r${id}` }, { parent: 'agent', at: 10 }),
          ),
        ]),
      ),
    [
      ['get', { a: 1 }, 'r1'],
      ['get', { a: 2 }, 'r2'],
    ],
  ],
  [
    'several turns in one trace',
    () =>
      listAnswers(
        listRuns(
          [1, 2].flatMap((turn) => [
            buildSpan(
              `i${turn}`,
              { 'span.type': 'claude_code.interaction', user_prompt: `Q${turn}` },
              { at: turn * 100, lasts: 50 },
            ),
            buildSpan(
              `l${turn}`,
              { 'span.type': 'claude_code.llm_request', 'response.model_output': `A${turn}` },
              { parent: `i${turn}`, at: turn * 100 + 1 },
            ),
          ]),
        ),
      ),
    ['A1', 'A2'],
  ],
  [
    'merged tools are no tool',
    () =>
      listCalls(
        listRuns(
          around(
            'agent',
            toolSpan('m', { name: '(merged tools)', result: 'x' }, { parent: 'agent', at: 21 }),
          ),
        ),
      ),
    [GET],
  ],
  [
    'judges are left out',
    () =>
      listRuns(
        around(
          'agent',
          buildSpan('j', { 'openinference.span.kind': 'EVALUATOR' }, { parent: 'agent', at: 60 }),
          chatSpan('jc', { output: [chatMessage('assistant', '1')] }, { parent: 'j', at: 61 }),
        ),
      ).map(answerText),
    ['Rain.'],
  ],
  [
    'a span comes twice',
    () =>
      listAnswers(
        listRuns([
          chatSpan('c', { input: [QUESTION], output: [chatMessage('assistant', 'Ra')] }, { lasts: 5 }),
          chatSpan('c', { input: [QUESTION], output: [ANSWER] }, { lasts: 9 }),
        ]),
      ),
    ['Rain.'],
  ],
  [
    'of several choices the first counts',
    () => listAnswers(listRuns(chats([[QUESTION], [ANSWER, chatMessage('assistant', 'Sun.')]]))),
    ['Rain.'],
  ],
  [
    'tools that give the answer are no evidence',
    () =>
      listRuns([
        ...chats([[QUESTION], [chatMessage('assistant', toolCall('1', 'final_result', {}))]]),
        tool({ id: '1', name: 'final_result', result: 'Rain.' }),
      ]).map((run) => run.context),
    [[]],
  ],
  [
    'the provider ran the tool',
    () =>
      listCalls(
        listRuns(
          chats([
            [QUESTION],
            [
              chatMessage(
                'assistant',
                {
                  type: 'server_tool_call',
                  id: '1',
                  name: 'search',
                  server_tool_call: { type: 's', q: 'x' },
                },
                {
                  type: 'server_tool_call_response',
                  id: '1',
                  server_tool_call_response: { type: 's', hits: 2 },
                },
                'Rain.',
              ),
            ],
          ]),
        ),
      ),
    [['search', { q: 'x' }, { hits: 2 }]],
  ],
  [
    'the question is an image',
    () =>
      listRuns(
        chats([[chatMessage('user', { type: 'uri', modality: 'image', uri: 'https://x/y.png' })], [ANSWER]]),
      ).map((run) => [
        run.scorable,
        run.input.inputMessages.flatMap((message) => message.content.parts.map((part) => part.type)),
      ]),
    [[true, ['file']]],
  ],
];

/** A fact is missing in its place and must be read from another place. */
const loss: readonly Quirk[] = [
  [
    'the model’s calls are missing',
    () =>
      listCalls(
        listRuns([
          ...chats([[QUESTION], [chatMessage('assistant', '')]], [[QUESTION], [ANSWER]]),
          tool({ name: 'get', args: { a: 1 }, result: { ok: true } }),
        ]),
      ),
    [GET],
  ],
  [
    'ids of calls are missing',
    () =>
      listCalls(
        listRuns([
          ...chats([
            [QUESTION],
            [chatMessage('assistant', toolCall(null, 'get', { a: 2 }), toolCall(null, 'get', { a: 1 }))],
          ]),
          tool({ name: 'get', args: { a: 1 }, result: { ok: true } }),
        ]),
      ),
    [['get', { a: 2 }, 'call'], GET],
  ],
  [
    'arguments are a bare value',
    () => listCalls(recorded('openinference-langchain-py-agent')),
    [['get_weather', { city: 'Paris' }, { city: 'Paris', tempC: 18, sky: 'rain' }]],
  ],
  [
    'a placeholder text is no call',
    () => listCalls(listRuns(chats([[QUESTION], [chatMessage('assistant', '[tool: weather]')]]))),
    [],
  ],
  [
    'the root’s output is grouped by kind',
    () =>
      recorded('mastra-otel-exporter').map((run) =>
        run.output[0]?.content.parts.map((part) => part.type).at(-1),
      ),
    ['text'],
  ],
  [
    'only the status tells of the failure',
    () =>
      listCalls(
        listRuns([...chats([[QUESTION], [CALL]]), tool({ id: '1', name: 'get' }, { error: 'down' })]),
      ),
    [['get', { a: 1 }, 'down']],
  ],
  [
    'the failure is an error text',
    () =>
      listCalls(
        listRuns(
          chats(
            [[QUESTION], [CALL]],
            [
              [
                QUESTION,
                CALL,
                {
                  role: 'tool',
                  content: [
                    {
                      type: 'tool-result',
                      toolCallId: '1',
                      toolName: 'get',
                      output: { type: 'error-text', value: 'down' },
                    },
                  ],
                },
              ],
              [ANSWER],
            ],
          ),
        ),
      ),
    [['get', { a: 1 }, 'down']],
  ],
  [
    'a stream tells no usage',
    () => listRuns(chats([[QUESTION], [ANSWER]])).map((run) => run.usage.inputTokens),
    [null],
  ],
  [
    'content is in log records only',
    () =>
      listAnswers(
        listRuns(
          [chatSpan('c', {})],
          [
            buildLog('c', 'gen_ai.client.inference.operation.details', {
              'gen_ai.output.messages': [ANSWER],
            }),
          ],
        ),
      ),
    ['Rain.'],
  ],
  [
    'content is on the agent only',
    () =>
      listAnswers(
        listRuns([
          agentSpan('agent', {
            'gen_ai.input.messages': [QUESTION],
            'gen_ai.output.messages': [CALL, RESULT, ANSWER],
          }),
          chatSpan('c', {}, { parent: 'agent' }),
        ]),
      ),
    ['Rain.'],
  ],
  [
    'content is on the model calls only',
    () => listAnswers(listRuns(chats([[QUESTION], [ANSWER]]))),
    ['Rain.'],
  ],
  [
    'the second call is given the tool’s message only',
    () => [
      listCalls(
        listRuns([
          chatSpan('c1', { input: [QUESTION], output: [CALL] }),
          chatSpan('c2', { input: [RESULT], output: [ANSWER] }, { at: 20 }),
        ]),
      ),
      listRuns([
        chatSpan('c1', { input: [QUESTION], output: [CALL] }),
        chatSpan('c2', { input: [RESULT], output: [ANSWER] }, { at: 20 }),
      ]).map(answerText),
    ],
    [[GET], ['Rain.']],
  ],
];

/** Names and results mean something else. */
const semantics: readonly Quirk[] = [
  [
    'a tool is called by its key in the registry, as the model calls it',
    () => listCalls(recorded('mastra-otel-exporter')).map((call) => (call as unknown[])[0]),
    ['weather'],
  ],
  [
    'an error object of a tool that ended well is its result',
    () =>
      listCalls(
        listRuns([
          ...chats([[QUESTION], [CALL]]),
          tool({ id: '1', name: 'get', result: { error: 'no such city' } }),
        ]),
      ),
    [['get', { a: 1 }, { error: 'no such city' }]],
  ],
];

describe.each(Object.entries({ structure, loss, semantics }))(
  'quirks of the %s of a run',
  (_group, quirks) => {
    it.each(quirks)('%s', (_quirk, actual, expected) => {
      expect(actual()).toEqual(expected);
    });
  },
);
