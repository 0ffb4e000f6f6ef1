import { describe, expect, it } from 'vitest';
import { createTurns, sleep, untilAborted } from '../../../src/domain/waits.ts';

describe('sleep', () => {
  it('waits the given time', async () => {
    const startedMs = performance.now();
    await sleep(20);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(19);
  });

  it('resolves as soon as the signal is aborted', async () => {
    const stop = new AbortController();
    const waiting = sleep(60_000, stop.signal);
    stop.abort();
    await expect(waiting).resolves.toBeUndefined();
    await expect(sleep(60_000, stop.signal)).resolves.toBeUndefined();
  });
});

describe('untilAborted', () => {
  it('returns the result of work that ends before the signal', async () => {
    await expect(untilAborted(Promise.resolve('done'), new AbortController().signal)).resolves.toBe('done');
  });

  it('throws the reason of the signal while the work still runs', async () => {
    const stop = new AbortController();
    const waiting = untilAborted(new Promise(() => undefined), stop.signal);
    stop.abort(new Error('time is up'));
    await expect(waiting).rejects.toThrow('time is up');
    await expect(
      untilAborted(new Promise(() => undefined), AbortSignal.abort(new Error('too late'))),
    ).rejects.toThrow('too late');
  });
});

describe('createTurns', () => {
  it('lets work go on while its time lasts', async () => {
    const giveTurns = createTurns(60_000);
    let hasOtherRun = false;
    setImmediate(() => (hasOtherRun = true));
    await giveTurns();
    expect(hasOtherRun).toBe(false);
  });

  it('lets callers that wait at the same time go on in different rounds of the event loop', async () => {
    const giveTurns = createTurns(0);
    let round = 0;
    const count = () => {
      round += 1;
      immediate = setImmediate(count);
    };
    let immediate = setImmediate(count);
    const rounds = await Promise.all(
      ['a', 'b', 'c'].map(async () => {
        await giveTurns();
        return round;
      }),
    );
    clearImmediate(immediate);
    expect(new Set(rounds).size).toBe(3);
  });

  it('stops work whose signal is aborted', async () => {
    const stop = new AbortController();
    const giveTurns = createTurns(0, stop.signal);
    stop.abort(new Error('no longer needed'));
    await expect(giveTurns()).rejects.toThrow('no longer needed');
  });
});
