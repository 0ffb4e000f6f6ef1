import { answerText } from '../facts.ts';
import { agentSpan, chatSpan, chatMessage, buildSpan, toolCall, toolSpan } from '../../builders/spans.ts';
import {
  ANSWER,
  listAnswers,
  around,
  listCalls,
  chats,
  GET,
  QUESTION,
  recorded,
  listRuns,
  tool,
} from './run-facts.ts';
import type { Quirk } from './span-facts.ts';

/** Quirks in the structure of spans. */
export const structure: readonly Quirk[] = [
  ...['c1', 'agent', 'step'].map((parent): Quirk => [
    `Q41 the tool is below ${parent}`,
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
  ['Q42 nothing is nested', () => recorded('traceloop-langchain').length, 1],
  [
    'Q43 the parent is missing',
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
    'Q44 two spans tell of one call',
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
    'Q45 usage is repeated above',
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
    'Q46 agents are nested',
    () =>
      recorded('strands-py-s1', 'spans-multi').map((run) => [run.agent, run.subRuns.map((sub) => sub.agent)]),
    [['travel_planner', ['weather_agent']]],
  ],
  [
    'Q47 calls run at the same time',
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
    'Q48 several turns in one trace',
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
    'Q49 merged tools are no tool',
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
    'Q50 judges are left out',
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
    'Q51 a span comes twice',
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
    'Q52 of several choices the first counts',
    () => listAnswers(listRuns(chats([[QUESTION], [ANSWER, chatMessage('assistant', 'Sun.')]]))),
    ['Rain.'],
  ],
  [
    'Q53 tools that give the answer are no evidence',
    () =>
      listRuns([
        ...chats([[QUESTION], [chatMessage('assistant', toolCall('1', 'final_result', {}))]]),
        tool({ id: '1', name: 'final_result', result: 'Rain.' }),
      ]).map((run) => run.context),
    [[]],
  ],
  [
    'Q54 the provider ran the tool',
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
    'Q55 the question is an image',
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
