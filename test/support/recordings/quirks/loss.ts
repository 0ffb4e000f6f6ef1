import { answerText } from '../facts.ts';
import { agentSpan, chatSpan, buildLog, chatMessage, toolCall } from '../../builders/spans.ts';
import {
  ANSWER,
  listAnswers,
  CALL,
  listCalls,
  chats,
  GET,
  QUESTION,
  recorded,
  RESULT,
  listRuns,
  tool,
} from './run-facts.ts';
import type { Quirk } from './span-facts.ts';

/** Quirks where a fact is missing in its place and must be read from another place. */
export const loss: readonly Quirk[] = [
  [
    'Q31 the model’s calls are missing',
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
    'Q32 ids of calls are missing',
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
    'Q33 arguments are a bare value',
    () => listCalls(recorded('openinference-langchain-py-agent')),
    [['get_weather', { city: 'Paris' }, { city: 'Paris', tempC: 18, sky: 'rain' }]],
  ],
  [
    'Q34 a placeholder text is no call',
    () => listCalls(listRuns(chats([[QUESTION], [chatMessage('assistant', '[tool: weather]')]]))),
    [],
  ],
  [
    'Q35 the root’s output is grouped by kind',
    () =>
      recorded('mastra-otel-exporter').map((run) =>
        run.output[0]?.content.parts.map((part) => part.type).at(-1),
      ),
    ['text'],
  ],
  [
    'Q36 only the status tells of the failure',
    () =>
      listCalls(
        listRuns([...chats([[QUESTION], [CALL]]), tool({ id: '1', name: 'get' }, { error: 'down' })]),
      ),
    [['get', { a: 1 }, 'down']],
  ],
  [
    'Q36 the failure is an error text',
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
    'Q37 a stream tells no usage',
    () => listRuns(chats([[QUESTION], [ANSWER]])).map((run) => run.usage.inputTokens),
    [null],
  ],
  [
    'Q38 content is in log records only',
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
    'Q39 content is on the agent only',
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
    'Q39 content is on the model calls only',
    () => listAnswers(listRuns(chats([[QUESTION], [ANSWER]]))),
    ['Rain.'],
  ],
  [
    'Q40 the second call is given the tool’s message only',
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
