import { describe, expect, it } from 'vitest';
import { type ChdbSession, SessionPool } from '../../../../src/store/embedded/session-pool.ts';

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
