import { describe, expect, test } from 'vitest';
import type { Database } from '../../../../src/store/database.ts';
import type { QueryParams } from '../../../../src/store/values.ts';
import { Discovery } from '../../../../src/store/foreign/discovery.ts';
import type { ForeignSchema } from '../../../../src/store/foreign/foreign-schema.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const LOOKBACK_MS = 15 * MINUTE_MS;

const SCHEMA: ForeignSchema = {
  traces: { name: '`otel`.`otel_traces`', columns: new Set(), attributes: 'map', ordered: true },
  lookup: null,
  logs: null,
};

/** A search as the database saw it: ends from and to, before (and after) now, and whether rows count as past. */
interface Seen {
  readonly fromMs: number;
  readonly toMs: number;
  readonly long: boolean;
  readonly past: boolean;
}

/** A store with a clock, that keeps what it was asked to do. */
class World {
  clockMs = NOW_MS;
  /** Stored position of the search. */
  keptMs: number | null = null;
  searches: Seen[] = [];
  failing = false;
  readonly database = {
    rows: async (sql: string) =>
      sql.includes('FROM progress') ? [{ atMs: this.keptMs }] : [{ now: this.clockMs }],
    insertRows: async (_table: string, [row]: readonly { DoneUntil: string }[]) => {
      this.keptMs = Date.parse(`${row?.DoneUntil.replace(' ', 'T')}Z`);
    },
    insertSelected: async (statement: string, params: QueryParams) => {
      const long = statement.includes('UNION ALL');
      if (this.failing && long) {
        throw new Error('too much');
      }
      this.searches.push({
        fromMs: Number(params['fromNs']) / 1e6,
        toMs: Number(params['toNs']) / 1e6,
        long,
        past: statement.includes('least(max(end)'),
      });
    },
  } as unknown as Database;

  start() {
    const source = { traces: 'otel.otel_traces', lookbackMs: LOOKBACK_MS };
    return new Discovery(this.database, source, async () => SCHEMA);
  }

  /** Searches since the last call. */
  taken(): Seen[] {
    return this.searches.splice(0);
  }
}

const near = (nowMs: number) => ({
  fromMs: nowMs - MINUTE_MS,
  toMs: nowMs + HOUR_MS,
  long: false,
  past: false,
});

describe('the searched range', () => {
  test('the first time is the look-back, as the past', async () => {
    const world = new World();
    await world.start().poll();
    expect(world.taken()).toEqual([
      { fromMs: NOW_MS - LOOKBACK_MS, toMs: NOW_MS + HOUR_MS, long: true, past: true },
    ]);
    expect(world.keptMs).toBe(NOW_MS);
  });

  test('each time is the last minute, and every 15 seconds the look-back', async () => {
    const world = new World();
    const discovery = world.start();
    await discovery.poll();
    world.taken();
    const wide: number[] = [];
    for (let second = 1; second <= 31; second++) {
      world.clockMs += SECOND_MS;
      await discovery.poll();
      const [first, ...others] = world.taken();
      expect(first).toEqual(near(world.clockMs));
      wide.push(...others.filter((search) => search.long && !search.past).map(() => second));
    }
    expect(wide).toEqual([15, 30]);
  });

  test('by a process that starts after another is the look-back before where that one was, at once', async () => {
    const world = new World();
    world.keptMs = NOW_MS - 10 * SECOND_MS;
    await world.start().poll();
    expect(world.taken()).toEqual([
      near(NOW_MS),
      { fromMs: NOW_MS - 10 * SECOND_MS - LOOKBACK_MS, toMs: NOW_MS + HOUR_MS, long: true, past: false },
    ]);
  });

  test('after a pause of hours is searched hour by hour, without a gap', async () => {
    const world = new World();
    const pausedMs = NOW_MS - 150 * MINUTE_MS;
    world.keptMs = pausedMs;
    const discovery = world.start();
    await discovery.poll();
    await discovery.poll();
    await discovery.poll();
    const wide = world.taken().filter((search) => search.long);
    expect(wide.map((search) => search.toMs)).toEqual([
      pausedMs + HOUR_MS,
      pausedMs + 2 * HOUR_MS,
      NOW_MS + HOUR_MS,
    ]);
    expect(wide.map((search) => search.fromMs)).toEqual(
      [0, 1, 2].map((hours) => pausedMs + hours * HOUR_MS - LOOKBACK_MS),
    );
    expect(world.keptMs).toBe(NOW_MS);
  });

  test('is searched again in smaller steps when the server could not take it', async () => {
    const world = new World();
    const pausedMs = NOW_MS - 10 * HOUR_MS;
    world.keptMs = pausedMs;
    const discovery = world.start();
    world.failing = true;
    await expect(discovery.poll()).rejects.toThrow('too much');
    await expect(discovery.poll()).rejects.toThrow('too much');
    world.failing = false;
    world.taken();
    await discovery.poll();
    await discovery.poll();
    const wide = world.taken().filter((search) => search.long);
    expect(wide.map((search) => search.toMs)).toEqual([pausedMs + 15 * MINUTE_MS, pausedMs + 45 * MINUTE_MS]);
  });

  test('is searched once for calls at the same time', async () => {
    const world = new World();
    const discovery = world.start();
    await Promise.all([discovery.poll(), discovery.poll()]);
    expect(world.taken()).toHaveLength(1);
  });

  test('is written down every minute, not every time', async () => {
    const world = new World();
    const discovery = world.start();
    await discovery.poll();
    const kept = new Set<number | null>();
    for (let second = 1; second <= 125; second++) {
      world.clockMs += SECOND_MS;
      await discovery.poll();
      kept.add(world.keptMs);
    }
    expect([...kept]).toEqual([NOW_MS, NOW_MS + 60 * SECOND_MS, NOW_MS + 120 * SECOND_MS]);
  });

  test("continues after the store's clock went back", async () => {
    const world = new World();
    world.keptMs = NOW_MS + HOUR_MS;
    await world.start().poll();
    expect(world.taken().at(-1)).toMatchObject({ fromMs: NOW_MS - LOOKBACK_MS, long: true });
  });
});
