import { expect, it } from 'vitest';
import { readWorkerMessage } from '../../../../src/scorers/own/messages.ts';

const question = { model: 'p/m', step: 's', messages: [{ role: 'user', text: 'Is it fine?' }] };
const facts = { id: 'a', moduleHash: 'b', range: [0, 1] };

it.each<object>([
  { type: 'loaded', facts },
  { type: 'unloadable', message: 'no' },
  { type: 'turn', run: 1 },
  { type: 'waits', run: 1 },
  { type: 'ask', run: 1, call: 2, question: { ...question, temperature: undefined, maxOutputTokens: 9 } },
  { type: 'remember', run: 1, call: 2 },
  { type: 'withdraw', run: 1, call: 2 },
  { type: 'ended', run: 1, result: Buffer.from('x') },
  {
    type: 'ended',
    run: 1,
    fault: { code: 'timeout', message: '', retryable: false, retryAfterMs: undefined, judge: undefined },
  },
])('a message of the process is read as it is: %j', (message) => {
  expect(readWorkerMessage(message)).toEqual(message);
});

it.each<[unknown]>([
  [null],
  [undefined],
  ['turn'],
  [5],
  [[]],
  [{}],
  [{ type: 'other', run: 1 }],
  [{ type: 'turn', run: 'x' }],
  [{ type: 'turn', run: 1.5 }],
  [{ type: 'ask', run: 1, call: 2, question: null }],
  [{ type: 'ask', run: 1, call: 2, question: { ...question, messages: [null] } }],
  [{ type: 'ended', run: 1, result: 5 }],
  [{ type: 'ended', run: 1, result: 'text' }],
  [{ type: 'ended', run: 1, fault: null }],
  [{ type: 'ended', run: 1, fault: { code: 5, message: '', retryable: false } }],
  [{ type: 'loaded', facts: null }],
  [{ type: 'loaded', facts: { id: 1 } }],
  [{ type: 'loaded', facts: { ...facts, version: 1n } }],
])('any other value is no message: %o', (value) => {
  expect(readWorkerMessage(value)).toBeUndefined();
});
