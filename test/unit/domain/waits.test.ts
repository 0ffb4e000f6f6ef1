import { describe, expect, it } from 'vitest';
import { sleep, untilAborted } from '../../../src/domain/waits.ts';

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
