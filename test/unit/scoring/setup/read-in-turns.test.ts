import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createTurnReader } from '../../../../src/scoring/setup/read-traces.ts';
import { readTrace } from '../../../../src/conventions/index.ts';
import { agentSpan, chatSpan, chatMessage, buildTrace } from '../../../support/builders/spans.ts';

function buildRun(calls: number, answer = 'Rain.') {
  const spans = Array.from({ length: calls }, (_, index) =>
    chatSpan(
      `chat ${index}`,
      { input: [chatMessage('user', 'Weather?')], output: [chatMessage('assistant', answer)] },
      { parent: 'agent', at: index },
    ),
  );
  return buildTrace([agentSpan('agent', {}, { lasts: calls }), ...spans]);
}

/** Counts the turns of the event loop that others get. */
async function countTurns(signal: AbortSignal): Promise<number> {
  let turns = 0;
  while (!signal.aborted) {
    await nextTurn();
    turns++;
  }
  return turns;
}

describe('a reader that takes turns', () => {
  it('reads a small trace at once', () => {
    const trace = buildRun(3);
    expect(createTurnReader()(trace)).toEqual(readTrace(trace));
  });

  it('lets other work go on while it reads large traces', async () => {
    const read = createTurnReader();
    const trace = buildRun(10_000);
    const others = new AbortController();
    const turns = countTurns(others.signal);
    const [first, second] = await Promise.all([read(trace), read(trace)]);
    others.abort();
    expect(await turns).toBeGreaterThan(2);
    expect(first.spanCount).toBe(10_001);
    expect(second).toEqual(first);
  });

  it('takes a few spans with much content for a large trace', async () => {
    const trace = buildRun(2, 'x'.repeat(600_000));
    const reading = createTurnReader()(trace);
    expect(reading).toBeInstanceOf(Promise);
    expect(await reading).toEqual(readTrace(trace));
  });
});
