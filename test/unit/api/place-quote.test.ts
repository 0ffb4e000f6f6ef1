import { describe, expect, it } from 'vitest';
import { placeQuote } from '../../../src/api/reads/scores.ts';
import {
  createAgentTestRun,
  createTestMessage,
  createToolInvocation,
} from '../../../src/scorers/shared/utils.ts';

const answer = 'We open at 9. Your seat is 4A.';
const booking = createToolInvocation({
  toolCallId: '1',
  toolName: 'book',
  args: {},
  result: 'seat 4A at 9',
});
const run = createAgentTestRun({
  inputMessages: [createTestMessage({ role: 'user', content: 'Do you open at 9?' })],
  output: [
    createTestMessage({
      role: 'assistant',
      content: answer,
      parts: [
        { type: 'tool-invocation', toolInvocation: booking },
        { type: 'text', text: answer },
      ],
    }),
  ],
});

describe('the place of a quote', () => {
  it.each([
    [undefined, 'at 9', { messageIndex: 1, partIndex: 0 }],
    ['tool-results', '4A', { messageIndex: 1, partIndex: 0 }],
    ['user', 'at 9', { messageIndex: 0, partIndex: 0 }],
    ['documents', 'at 9', { messageIndex: 1, partIndex: 0 }],
    ['system', 'open at 9', { messageIndex: null, partIndex: null }],
    ['turns', 'open at 9', { messageIndex: null, partIndex: null }],
  ])('of the source %j, %j, is in a message of this kind', (source, quote, place) => {
    const verdict = {
      statement: 's',
      verdict: 'supported',
      quote,
      ...(source === undefined ? {} : { source }),
    };
    expect(placeQuote(verdict, run as never, [])).toMatchObject(place);
  });
});
