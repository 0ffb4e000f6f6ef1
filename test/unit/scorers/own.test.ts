import { expect, it } from 'vitest';
import { Turns, readWorkerMessage } from '../../../src/scorers/own/messages.ts';
import { PauseGate, PROBE_EVERY_MS } from '../../../src/scorers/own/pool.ts';

it('gives the turn to one run after the other, to one that comes back from a judge first', async () => {
  const announced: number[] = [];
  const turns = new Turns(async (run) => void announced.push(run));
  await turns.take(1);
  const taken = [turns.take(2), turns.take(3), turns.take(4, true)];
  expect(announced).toEqual([1]);

  for (const run of [1, 4, 2]) {
    turns.release(run);
    await Promise.resolve();
  }

  await Promise.all(taken);
  expect(announced).toEqual([1, 4, 2, 3]);
});

it('keeps the turn of a run that takes it twice, and of one that another run gives away', async () => {
  const turns = new Turns(async () => undefined);
  await turns.take(1);
  await turns.take(1);
  turns.release(2);
  expect(turns.holds(1)).toBe(true);
});

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

function pausedAt(nowMs: number) {
  const gate = new PauseGate();
  const said = Array.from({ length: 5 }, () => gate.countTimeout(nowMs));
  expect(said).toEqual([false, false, false, false, true]);
  return gate;
}

it('pauses at the fifth timeout in a row, and not when a run ended in time between them', () => {
  const gate = new PauseGate();
  for (let count = 0; count < 5; count += 1) {
    const pauses = Array.from({ length: 4 }, () => gate.countTimeout(0));
    expect([...pauses, gate.countEnd()]).toEqual([false, false, false, false, false]);
  }
  expect(gate.isPaused).toBe(false);
  expect(pausedAt(0).isPaused).toBe(true);
});

it('lets one run a minute through while it pauses', () => {
  const gate = pausedAt(1_000);
  const times = [1_000, 1_000 + PROBE_EVERY_MS - 1, 1_000 + PROBE_EVERY_MS, 1_001 + PROBE_EVERY_MS];
  expect(times.map((nowMs) => gate.admits(nowMs))).toEqual([false, false, true, false]);
});

it('works again with the first run that ends in time, and says so once', () => {
  const gate = pausedAt(0);
  expect([gate.countEnd(), gate.countEnd()]).toEqual([true, false]);
  expect(gate.admits(1)).toBe(true);
});
