import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Decision } from '../../../src/domain/decision.ts';
import { computeShard, joinTraceKey, type TraceActivity } from '../../../src/store/contracts/stores.ts';
import type { Database } from '../../../src/store/database.ts';
import { openDatabase } from '../../../src/store/open-database.ts';
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
      readByShape: true,
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
    const [row] = await database.rows<{ rows: number }>(
      'SELECT count() AS rows FROM decisions WHERE TraceId = {traceId:String}',
      { traceId: decision.traceId },
    );
    expect(row?.rows).toBe(1);
  });
});

/** The scorer of `buildDecision`, at all times. */
function buildPair(rule: string) {
  return { rule, scorer: buildDecision().scorer, fromMs: 0, untilMs: Infinity };
}

describe('due attempts', () => {
  const soon = Date.UTC(2031, 0, 1);
  const deferred = (fields: Partial<Decision> = {}) =>
    buildDecision({ status: 'deferred', nextAttemptAt: soon, ...fields });

  async function due(untilMs = soon, shards: readonly number[] | null = null, limit = 1_000) {
    return (await it.store.decisions.due({ untilMs, shards, limit })).map(({ traceId }) => traceId);
  }

  test('are found by their time alone, earliest first, whatever the age of the trace', async () => {
    const later = deferred({ evidenceUntil: 1_000 });
    const earlier = deferred({ nextAttemptAt: soon - 1 });
    await it.store.decisions.write([later, earlier]);
    const found = (await due()).filter((id) => [later.traceId, earlier.traceId].includes(id));
    expect(found).toEqual([earlier.traceId, later.traceId]);
    expect(await due(soon - 1)).not.toContain(later.traceId);
    expect(await due(soon, null, 1)).toHaveLength(1);
  });

  test('leave out rows that were decided since, and rows of a backfill', async () => {
    const decided = deferred();
    const backfilled = deferred({ rule: 'backfill:a' });
    await it.store.decisions.write([decided, backfilled]);
    await it.store.decisions.write([
      { ...decided, status: 'scored', nextAttemptAt: null, attempts: decided.attempts + 1 },
    ]);
    const found = await due();
    expect(found).not.toContain(decided.traceId);
    expect(found).not.toContain(backfilled.traceId);
  });

  test('come back equal, and of the requested shards only', async () => {
    const row = deferred();
    await it.store.decisions.write([row]);
    const [found] = await it.store.decisions.due({
      untilMs: soon,
      shards: [computeShard(row)],
      limit: 1_000,
    });
    expect(found).toEqual(row);
    expect(await due(soon, [(computeShard(row) + 1) % 1_024])).not.toContain(row.traceId);
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

  async function undecided(rule: string, fromMs = 0, scorer?: string): Promise<string[]> {
    const nowMs = Date.now();
    const found = await it.store.decisions.undecided({
      sinceMs: nowMs - 3_600_000,
      nowMs,
      pairs: [{ ...buildPair(rule), fromMs, ...(scorer === undefined ? {} : { scorer }) }],
      limit: 10_000,
    });
    return found.map(({ traceId }) => traceId);
  }

  test('finds a trace without a decision, and not after its decision', async () => {
    const activity = await arrive();
    expect(await undecided('default')).toContain(activity.traceId);
    await it.store.decisions.write([
      buildDecision({
        traceId: activity.traceId,
        evidenceUntil: activity.lastArrivalMs,
        scorer: '*',
        status: 'filtered',
      }),
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

  test('finds a trace for a scorer of the rule that has no row, also of one target only', async () => {
    const activity = await arrive();
    const row = { traceId: activity.traceId, evidenceUntil: activity.lastArrivalMs };
    await it.store.decisions.write([
      buildDecision({ ...row, targetId: `${activity.traceId}/1` }),
      buildDecision({ ...row, targetId: `${activity.traceId}/2` }),
    ]);
    expect(await undecided('default')).not.toContain(activity.traceId);
    expect(await undecided('default', 0, 'second')).toContain(activity.traceId);
    await it.store.decisions.write([
      buildDecision({ ...row, targetId: `${activity.traceId}/1`, scorer: 'second' }),
    ]);
    expect(await undecided('default', 0, 'second')).toContain(activity.traceId);
    await it.store.decisions.write([
      buildDecision({ ...row, targetId: `${activity.traceId}/2`, scorer: '*', status: 'not_applicable' }),
    ]);
    expect(await undecided('default', 0, 'second')).not.toContain(activity.traceId);
  });

  test('does not take a withdrawn verdict on the whole rule for a decision of its scorers', async () => {
    const activity = await arrive();
    await it.store.decisions.write([
      buildDecision({
        traceId: activity.traceId,
        evidenceUntil: activity.lastArrivalMs,
        scorer: '*',
        status: 'scored',
      }),
    ]);
    expect(await undecided('default')).toContain(activity.traceId);
  });

  test('leaves out a trace that arrived when the scorer was not in the rule', async () => {
    const activity = await arrive();
    const covers = async (fromMs: number, untilMs: number) => {
      const pairs = [{ ...buildPair('fourth'), fromMs, untilMs }];
      const query = { sinceMs: 0, nowMs: Date.now(), pairs, limit: 10_000 };
      const found = await it.store.decisions.undecided(query);
      return found.some(({ traceId }) => traceId === activity.traceId);
    };
    expect(await covers(activity.firstArrivalMs, activity.firstArrivalMs + 1)).toBe(true);
    expect(await covers(0, activity.firstArrivalMs)).toBe(false);
  });

  test('leaves out traces without an agent, traces of before, and asks nothing without rules', async () => {
    const plain = await arrive({ attributes: new Map() });
    const activity = await arrive();
    expect(await undecided('default')).not.toContain(plain.traceId);
    const later = await it.store.decisions.undecided({
      sinceMs: activity.lastArrivalMs + 1,
      nowMs: Date.now(),
      pairs: [buildPair('default')],
      limit: 10,
    });
    expect(later).toEqual([]);
    const query = { sinceMs: 0, nowMs: Date.now(), pairs: [], limit: 10 };
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
        pairs: [buildPair('sharded')],
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
      pairs: [buildPair('third')],
      limit: 1,
    });
    expect(found.map(({ traceId }) => traceId)).toEqual([first.traceId]);
  });
});
