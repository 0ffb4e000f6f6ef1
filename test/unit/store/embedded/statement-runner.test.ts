import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ChdbResult, ChdbSession } from '../../../../src/store/embedded/session-pool.ts';
import { type Query, runLent } from '../../../../src/store/embedded/statement-runner.ts';

const NOTHING: ChdbResult = { elapsed: 0, rowsRead: 0, bytesRead: 0, bytes: () => new Uint8Array() };
const QUERY: Query = {
  sql: 'SELECT 1',
  format: 'TSV',
  isRead: true,
  outfileAt: undefined,
  nativeRevision: 0,
  limitS: 60,
};

/** A statement that runs until `end` is called, or that ends when it is cancelled. */
function start({ isCancellable = false, hasRoom = true, query = {} as Partial<Query> }) {
  const seen = { cancelled: 0, replaced: [] as string[], returned: 0 };
  const statement = Promise.withResolvers<ChdbResult>();
  const session: ChdbSession = { queryAsync: () => statement.promise, close: () => undefined };
  const gone = new AbortController();
  const reply = runLent(
    { session, finish: async () => void seen.returned++ },
    { ...QUERY, ...query },
    {
      control: async () => {
        seen.cancelled++;
        if (isCancellable) {
          statement.reject(new Error('Code: 394. DB::Exception: Query was cancelled. (QUERY_WAS_CANCELLED)'));
        }
      },
      replies: {
        reserve: () => '/nowhere',
        remove: () => Promise.resolve(),
        close: () => Promise.resolve(),
        hasRoom: () => Promise.resolve(hasRoom),
      },
      replaceProcess: (reason) => seen.replaced.push(reason),
    },
    gone.signal,
  );
  const outcome = reply.then(
    () => 'answered',
    (error: unknown) => String(error),
  );
  return { seen, outcome, leave: () => gone.abort(), end: () => statement.resolve(NOTHING) };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a statement of another program', () => {
  it('is cancelled behind its limit, with an error that names the limit', async () => {
    const { seen, outcome } = start({ isCancellable: true });

    await vi.advanceTimersByTimeAsync(60_000);
    expect(seen.cancelled).toBe(0);
    await vi.advanceTimersByTimeAsync(20_000);

    expect(await outcome).toMatch(/limit of 60 s: make it read less.*TIMEOUT_EXCEEDED/u);
    expect(seen).toEqual({ cancelled: 1, replaced: [], returned: 1 });
  });

  it.each([false, true])(
    'that cannot be cancelled costs the process 10 s behind its limit (client gone: %s)',
    async (isGone) => {
      const { seen, outcome, leave } = start({});
      if (isGone) {
        leave();
      }

      await vi.advanceTimersByTimeAsync(69_000);
      expect(seen.replaced).toEqual([]);
      await vi.advanceTimersByTimeAsync(1_000);

      expect(await outcome).toContain('could not be cancelled, so the engine starts again');
      expect(seen.replaced).toHaveLength(1);
    },
  );

  it('that ends in time is left alone', async () => {
    const { seen, outcome, end } = start({});

    end();
    await vi.advanceTimersByTimeAsync(100_000);

    expect(await outcome).toBe('answered');
    expect(seen).toEqual({ cancelled: 0, replaced: [], returned: 1 });
  });

  it('is cancelled when its reply fills the disk', async () => {
    const { seen, outcome } = start({ isCancellable: true, hasRoom: false, query: { outfileAt: 8 } });

    await vi.advanceTimersByTimeAsync(1_000);

    expect(await outcome).toContain('NOT_ENOUGH_SPACE');
    expect(seen.cancelled).toBe(1);
  });
});
