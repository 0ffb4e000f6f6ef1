import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EngineRequest } from '../../../../src/store/embedded/engine-request.ts';
import {
  type ChdbResult,
  type ChdbSession,
  SessionPool,
} from '../../../../src/store/embedded/session-pool.ts';
import { parseStatement } from '../../../../src/store/embedded/sql-statement.ts';
import { leasePooled, type Query, runLent } from '../../../../src/store/embedded/statement-runner.ts';

function fakes(): { open: () => ChdbSession; opened: number; closed: number } {
  const counts = {
    opened: 0,
    closed: 0,
    open: (): ChdbSession => {
      counts.opened++;
      return {
        queryAsync: () => Promise.reject(new Error('not used here')),
        close: () => {
          counts.closed++;
        },
      };
    },
  };
  return counts;
}

const never = new AbortController().signal;

describe('a pool of sessions', () => {
  it('lends each session to one statement at a time, in the order of asking', async () => {
    const pool = new SessionPool(fakes().open, { size: 1, maxWaiting: 2 });
    const first = await pool.acquire(never);
    const order: string[] = [];
    const second = pool.acquire(never).then((session) => {
      order.push('second');
      return session;
    });
    const third = pool.acquire(never).then(() => order.push('third'));

    pool.release(first, false);
    pool.release(await second, false);
    await third;

    expect(order).toEqual(['second', 'third']);
    expect(await second).toBe(first);
  });

  it('refuses who would have to wait behind too many', async () => {
    const pool = new SessionPool(fakes().open, { size: 1, maxWaiting: 0 });
    await pool.acquire(never);

    await expect(pool.acquire(never)).rejects.toThrow('TOO_MANY_SIMULTANEOUS_QUERIES');
  });

  it('forgets who has gone while waiting', async () => {
    const pool = new SessionPool(fakes().open, { size: 1, maxWaiting: 1 });
    const held = await pool.acquire(never);
    const gone = new AbortController();
    const waiting = pool.acquire(gone.signal);

    gone.abort();

    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    pool.release(held, false);
    await expect(pool.acquire(never)).resolves.toBe(held);
  });

  it('replaces a spoilt session', async () => {
    const sessions = fakes();
    const pool = new SessionPool(sessions.open, { size: 1, maxWaiting: 1 });
    const spoilt = await pool.acquire(never);

    pool.release(spoilt, true);

    expect(await pool.acquire(never)).not.toBe(spoilt);
    expect(sessions).toMatchObject({ opened: 2, closed: 1 });
  });

  it('is drained when the last session is back, and closes all', async () => {
    const sessions = fakes();
    const pool = new SessionPool(sessions.open, { size: 2, maxWaiting: 1 });
    const held = await pool.acquire(never);
    let isDrained = false;
    const drained = pool.drained().then(() => {
      isDrained = true;
    });

    await Promise.resolve();
    expect(isDrained).toBe(false);
    pool.release(held, false);
    await drained;
    pool.close();

    expect(sessions.closed).toBe(2);
  });
});

const NOTHING: ChdbResult = { elapsed: 0, rowsRead: 0, bytesRead: 0, bytes: () => new Uint8Array() };

/** A pool of one session, and the statements that reach it, after the number of the session. */
function buildPool(refuse: (sql: string, session: number) => boolean = () => false) {
  const statements: string[] = [];
  let sessions = 0;
  const open = (): ChdbSession => {
    sessions += 1;
    const number = sessions;
    return {
      queryAsync: async (sql) => {
        statements.push(`${number}: ${sql}`);
        if (refuse(sql, number)) {
          throw new Error('refused');
        }
        return NOTHING;
      },
      close: () => undefined,
    };
  };
  return { pool: new SessionPool(open, { size: 1, maxWaiting: 0 }), statements };
}

function aRequest(
  sql: string,
  {
    settings = {},
    parameters = {},
  }: { settings?: Record<string, string>; parameters?: Record<string, string> } = {},
): EngineRequest {
  return {
    statement: parseStatement(sql),
    database: 'default',
    defaultFormat: 'TSV',
    settings: new Map(Object.entries(settings)),
    parameters: new Map(Object.entries(parameters)),
    isOwn: true,
    isLargeReply: false,
    compressReply: false,
    nativeRevision: 0,
    data: undefined,
    dataCompression: undefined,
  };
}

async function run(pool: SessionPool, request: EngineRequest, outcome: 'done' | 'failed' = 'done') {
  const { finish } = await leasePooled(pool, request, never);
  await finish(outcome);
}

describe('a session of the pool', () => {
  it('sets nothing again that it has', async () => {
    const { pool, statements } = buildPool();
    const request = aRequest('SELECT 1', { settings: { max_threads: '1', max_block_size: '5' } });

    await run(pool, request);
    await run(pool, request);

    expect(statements).toEqual(["1: SET max_threads='1', max_block_size='5'"]);
  });

  it('sets what changed, resets what the request does not name, and sets every parameter', async () => {
    const { pool, statements } = buildPool();
    await run(pool, aRequest('SELECT 1', { settings: { max_threads: '1', max_block_size: '5' } }));

    const settings = { max_block_size: '6' };
    await run(pool, aRequest('SELECT {a:UInt8}', { settings, parameters: { a: '7' } }));
    await run(pool, aRequest('SELECT {a:UInt8}', { settings, parameters: { a: '7' } }));
    await run(pool, aRequest('SELECT 1'));

    expect(statements.slice(1)).toEqual([
      "1: SET max_block_size='6', max_threads=DEFAULT, param_a='7'",
      "1: SET param_a='7'",
      '1: SET max_block_size=DEFAULT',
    ]);
  });

  it('is replaced after a statement that failed or changed it: the new one has no settings', async () => {
    const { pool, statements } = buildPool();
    const request = aRequest('SELECT 1', { settings: { max_threads: '1' } });

    await run(pool, request, 'failed');
    await run(pool, aRequest('SET max_threads = 2'));
    await run(pool, request);

    expect(statements).toEqual(["1: SET max_threads='1'", "3: SET max_threads='1'"]);
  });

  it('is replaced when its settings cannot be changed any more', async () => {
    const { pool, statements } = buildPool(
      (sql, session) => session === 1 && sql.includes('readonly=DEFAULT'),
    );
    await run(pool, aRequest('SELECT 1', { settings: { readonly: '1' } }));

    await run(pool, aRequest('SELECT 1', { settings: { max_threads: '1' } }));

    expect(statements.slice(1)).toEqual([
      "1: SET max_threads='1', readonly=DEFAULT",
      "2: SET max_threads='1'",
    ]);
  });

  it('goes back to the pool when the request is refused', async () => {
    const { pool } = buildPool((sql) => sql.includes('unknown'));
    const refused = aRequest('SELECT 1', { settings: { unknown: '1' } });

    await run(pool, aRequest('SELECT 1', { settings: { max_threads: '1' } }));
    await expect(run(pool, refused)).rejects.toThrow('refused');
    await expect(run(pool, refused)).rejects.toThrow('refused');

    await expect(run(pool, aRequest('SELECT 1'))).resolves.toBeUndefined();
  });
});

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
