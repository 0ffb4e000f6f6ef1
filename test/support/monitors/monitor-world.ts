import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { Score } from '../../../src/domain/score.ts';
import { createEvaluator, type Evaluator } from '../../../src/monitors/evaluator.ts';
import type { MonitorStore } from '../../../src/monitors/monitor-store.ts';
import type { MonitorGroup } from '../../../src/monitors/rule.ts';
import { openDatabase } from '../../../src/store/open-database.ts';
import { scoreRows } from '../../../src/store/table-rows.ts';
import { toDateTime } from '../../../src/store/values.ts';
import { DAY_MS, HOUR_MS } from './hourly-monitors.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  newTraceId,
  buildScore,
  openEmptied,
  storeFlags,
  testStore,
  type TestStore,
} from '../store/store-rows.ts';

/** Midnight, a week ago: early enough for a history, and late enough that no row expires. */
export const WORLD_START_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS - 7 * DAY_MS;

/** Monitors on a store of their own. The test sets the time. */
export interface MonitorWorld {
  readonly store: Store;
  /** Flags of the command line that select this store. */
  readonly flags: readonly string[];
  /** Time that decides which buckets are closed, Unix milliseconds. */
  clockMs: number;
  /** Logged warnings. */
  readonly warnings: { message: string; fields: Readonly<Record<string, unknown>> }[];
  evaluator(groups: readonly MonitorGroup[], over?: (store: MonitorStore) => MonitorStore): Evaluator;
  /** Inserts live scores with this time stamp. */
  scored(atMs: number, scores: readonly Partial<Score>[]): Promise<void>;
  /** Inserts the same scores in the middle of every hour of a range. */
  scoredHourly(fromMs: number, toMs: number, scores: readonly Partial<Score>[]): Promise<void>;
  stop(): Promise<void>;
}

/** Opens a world on a database. Empties the database first. */
export async function monitorWorld({ options }: Pick<TestStore, 'options'>): Promise<MonitorWorld> {
  const store = await openEmptied(options);
  const database = openDatabase(options);
  const world: MonitorWorld = {
    store,
    flags: storeFlags(options),
    clockMs: WORLD_START_MS,
    warnings: [],
    evaluator(groups, over = (same) => same) {
      const monitors = over({ ...store.monitors, nowMs: () => Promise.resolve(world.clockMs) });
      const warn = (message: string, fields: Readonly<Record<string, unknown>>) =>
        void world.warnings.push({ message, fields });
      return createEvaluator(groups, { store: monitors, turn: () => Promise.resolve(), warn });
    },
    scored: (atMs, scores) =>
      database.insertRows(
        'scores',
        scores.map((score) => scoreRowAt(atMs, score)),
      ),
    async scoredHourly(fromMs, toMs, scores) {
      const rows: object[] = [];
      for (let hourMs = fromMs; hourMs < toMs; hourMs += HOUR_MS) {
        rows.push(...scores.map((score) => scoreRowAt(hourMs + HOUR_MS / 2, score)));
      }
      await database.insertRows('scores', rows);
    },
    async stop() {
      await database.close();
      await store.close();
    },
  };
  return world;
}

/** Creates a new world for each test of a file, all on one database. */
export function worldsOfTests(): { readonly world: MonitorWorld } {
  const its = {} as { world: MonitorWorld };
  let base: TestStore;
  beforeAll(async () => {
    base = await testStore();
  });
  afterAll(() => base.stop());
  beforeEach(async () => {
    its.world = await monitorWorld(base);
  });
  afterEach(() => its.world.stop());
  return its;
}

/** Builds the row of a live score that the store received at this time. */
export function scoreRowAt(atMs: number, fields: Partial<Score>): Record<string, unknown> {
  const score = buildScore({
    scoreId: randomUUID(),
    traceId: newTraceId(),
    traceTimestamp: atMs - 15_000,
    scoredAt: atMs - 500,
    evidenceUntil: atMs - 10_000,
    day: new Date(atMs).toISOString().slice(0, 10),
    ...fields,
  });
  return { ...scoreRows.encode(score), WrittenAt: toDateTime(atMs) };
}
