import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { joinTraceKey, type TraceActivity } from '../../../src/store/contracts/stores.ts';
import { computeShard } from '../../../src/store/contracts/trace-shards.ts';
import { openDatabase, type Database } from '../../../src/store/database.ts';
import {
  buildDecision,
  spanBlock,
  buildSpan,
  testStore,
  type TestStore,
} from '../../support/store/store-rows.ts';

let it: TestStore;
let database: Database;

beforeAll(async () => {
  it = await testStore();
  database = openDatabase(it.options);
});
afterAll(async () => {
  await database.close();
  await it.stop();
});

async function listDecisions(traceId: string, tenant = '') {
  const key = { tenant, traceId };
  return (await it.store.decisions.ofTraces([key])).get(joinTraceKey(key)) ?? [];
}

describe('decisions', () => {
  test('come back equal in every field', async () => {
    const decision = buildDecision({
      tenant: 't',
      status: 'deferred',
      reason: "judge_rate_limited: the judge's limit",
      attempts: 3,
      nextAttemptAt: 1_763_700_060_123,
      weight: null,
      inclusionProbability: 0.1,
      costUsd: 0.000_31,
    });
    await it.store.decisions.write([decision]);
    expect(await listDecisions(decision.traceId, 't')).toEqual([decision]);
    expect(await listDecisions(decision.traceId)).toEqual([]);
  });

  test('of newer evidence win, in any order of writes', async () => {
    const newer = buildDecision({ evidenceUntil: 2000, status: 'scored' });
    const older = { ...newer, evidenceUntil: 1000, attempts: 9, status: 'failed' as const };
    const retried = { ...newer, attempts: 1, reason: 'again' };
    await it.store.decisions.write([newer]);
    await it.store.decisions.write([older]);
    expect(await listDecisions(newer.traceId)).toEqual([newer]);
    await it.store.decisions.write([retried]);
    expect(await listDecisions(newer.traceId)).toEqual([retried]);
  });

  test('stand apart by rule, scorer and target', async () => {
    const one = buildDecision();
    const others = [
      { ...one, rule: 'production' },
      { ...one, scorer: '*' },
      { ...one, targetId: `${one.traceId}/1` },
    ];
    await it.store.decisions.write([one, ...others]);
    expect(await listDecisions(one.traceId)).toHaveLength(4);
  });

  test('written again by a retry stay one row', async () => {
    const decision = buildDecision();
    await it.store.decisions.write([decision]);
    await it.store.decisions.write([decision]);
    const [row] = await database.rows<{ rows: string }>(
      'SELECT count() AS rows FROM decisions WHERE TraceId = {traceId:String}',
      { traceId: decision.traceId },
    );
    expect(row?.rows).toBe('1');
  });
});

describe('the sweep', () => {
  let blocks = 0;
  async function arrive(fields: Parameters<typeof buildSpan>[0] = {}): Promise<TraceActivity> {
    const span = buildSpan(fields);
    blocks += 1;
    await it.store.sink.insert(spanBlock([span]), `sweep-${blocks}`);
    const [activity] = await it.store.spans.findTrace(span.traceId);
    if (activity === undefined) {
      throw new Error('the trace did not arrive');
    }
    return activity;
  }

  async function undecided(rule: string, activeFromMs = 0, nowMs = Date.now()): Promise<string[]> {
    const found = await it.store.decisions.undecided({
      sinceMs: nowMs - 3_600_000,
      nowMs,
      rules: [{ rule, activeFromMs }],
      limit: 10_000,
    });
    return found.map(({ traceId }) => traceId);
  }

  test('finds a trace without a decision, and not after its decision', async () => {
    const activity = await arrive();
    expect(await undecided('default')).toContain(activity.traceId);
    await it.store.decisions.write([
      buildDecision({ traceId: activity.traceId, evidenceUntil: activity.lastArrivalMs, scorer: '*' }),
    ]);
    expect(await undecided('default')).not.toContain(activity.traceId);
  });

  test('finds a trace for a rule of its own, not for one that came later than the trace', async () => {
    const activity = await arrive();
    await it.store.decisions.write([
      buildDecision({ traceId: activity.traceId, evidenceUntil: activity.lastArrivalMs }),
    ]);
    expect(await undecided('second')).toContain(activity.traceId);
    expect(await undecided('second', activity.firstArrivalMs + 1)).not.toContain(activity.traceId);
  });

  test('finds a trace with spans newer than its decision', async () => {
    const activity = await arrive();
    await it.store.decisions.write([
      buildDecision({ traceId: activity.traceId, evidenceUntil: activity.lastArrivalMs - 1 }),
    ]);
    expect(await undecided('default')).toContain(activity.traceId);
  });

  test('finds a deferred decision when its next attempt is due, not before', async () => {
    const activity = await arrive();
    const now = Date.now();
    await it.store.decisions.write([
      buildDecision({
        traceId: activity.traceId,
        evidenceUntil: activity.lastArrivalMs,
        status: 'deferred',
        nextAttemptAt: now + 60_000,
      }),
    ]);
    expect(await undecided('default', 0, now)).not.toContain(activity.traceId);
    expect(await undecided('default', 0, now + 60_000)).toContain(activity.traceId);
  });

  test('leaves out traces without an agent, traces of before, and asks nothing without rules', async () => {
    const plain = await arrive({ attributes: new Map() });
    const activity = await arrive();
    expect(await undecided('default')).not.toContain(plain.traceId);
    const later = await it.store.decisions.undecided({
      sinceMs: activity.lastArrivalMs + 1,
      nowMs: Date.now(),
      rules: [{ rule: 'default', activeFromMs: 0 }],
      limit: 10,
    });
    expect(later).toEqual([]);
    const query = { sinceMs: 0, nowMs: Date.now(), rules: [], limit: 10 };
    expect(await it.store.decisions.undecided(query)).toEqual([]);
  });

  test('looks only for traces of the shards that it is asked for', async () => {
    const traces: TraceActivity[] = [];
    for (let count = 0; count < 4; count += 1) {
      traces.push(await arrive());
    }
    const found = async (shards: readonly number[] | null) => {
      const query = {
        sinceMs: 0,
        nowMs: Date.now(),
        rules: [{ rule: 'sharded', activeFromMs: 0 }],
        limit: 10_000,
      };
      const ids = (await it.store.decisions.undecided({ ...query, shards })).map(({ traceId }) => traceId);
      return traces.map(({ traceId }) => traceId).filter((id) => ids.includes(id));
    };
    expect(await found(null)).toHaveLength(4);
    expect(await found([])).toEqual([]);
    for (const each of traces) {
      const others = traces
        .filter((other) => computeShard(other) === computeShard(each))
        .map(({ traceId }) => traceId);
      expect(await found([computeShard(each)])).toEqual(others);
    }
  });

  test('returns at most the requested number, oldest first', async () => {
    const first = await arrive();
    await arrive();
    const found = await it.store.decisions.undecided({
      sinceMs: first.firstArrivalMs,
      nowMs: Date.now(),
      rules: [{ rule: 'third', activeFromMs: 0 }],
      limit: 1,
    });
    expect(found.map(({ traceId }) => traceId)).toEqual([first.traceId]);
  });
});
