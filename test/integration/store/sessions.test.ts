import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildSessionTargetId } from '../../../src/domain/session-target.ts';
import { computeShard } from '../../../src/store/contracts/stores.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import {
  buildDecision,
  buildScore,
  newTraceId,
  testStore,
  type TestStore,
} from '../../support/store/store-rows.ts';

let it: TestStore;
let nowMs: number;

beforeAll(async () => {
  it = await testStore();
  nowMs = await it.store.spans.nowMs();
});
afterAll(async () => {
  await it.stop();
});

const PAIRS = [
  { rule: 's', scorer: 'a', fromMs: 0, untilMs: Infinity, ofSessions: true },
  { rule: 's', scorer: 'b', fromMs: 0, untilMs: Infinity, ofSessions: true },
];

function turn(sessionId: string, evidenceUntil: number, fields: Parameters<typeof buildRunRecord>[0] = {}) {
  return buildRunRecord({ sessionId, evidenceUntil, startedAt: evidenceUntil, ...fields });
}

async function undecided(query: Partial<Parameters<TestStore['store']['sessions']['undecided']>[0]> = {}) {
  const asked = { sinceMs: nowMs - 60_000, pairs: PAIRS, shards: null, limit: 100, ...query };
  const found = await it.store.sessions.undecided(asked);
  return found.filter(({ isLate }) => !isLate).map(({ tenant, sessionId }) => `${tenant}/${sessionId}`);
}

function decided(sessionId: string, scorer: string, evidenceUntil: number, fields = {}) {
  const targetId = buildSessionTargetId(sessionId);
  return buildDecision({
    traceId: '',
    target: 'session',
    targetId,
    rule: 's',
    scorer,
    evidenceUntil,
    ...fields,
  });
}

describe('sessions in the store', () => {
  test('are undecided until every scorer, or the whole rule, has seen the last turn', async () => {
    const [open, half, done, filtered, long] = [
      'open',
      'half',
      'done',
      'filtered',
      `long ${'ü'.repeat(150)}`,
    ] as const;
    await it.store.runs.write([
      turn(open, nowMs),
      turn(half, nowMs + 1),
      turn(done, nowMs + 2),
      turn(done, nowMs + 3),
      turn(filtered, nowMs + 4),
      turn(long, nowMs + 5),
      turn(long, nowMs + 6, { tenant: 't' }),
      turn('', nowMs),
      turn('calls', nowMs, { target: 'model-call' }),
      turn('gone', nowMs, { isDeleted: true }),
    ]);
    await it.store.decisions.write([
      decided(half, 'a', nowMs + 1),
      decided(done, 'a', nowMs + 3),
      decided(done, 'b', nowMs + 3),
      decided(filtered, '*', nowMs + 4, { status: 'filtered' }),
      decided(long, 'a', nowMs + 5),
      decided(long, 'b', nowMs + 5),
    ]);
    expect(await undecided()).toEqual(['/open', '/half', `t/${long}`]);
    expect(await undecided({ limit: 1 })).toEqual(['/open']);
    expect(await undecided({ sinceMs: nowMs + 60_000 })).toEqual([]);
    expect(await undecided({ pairs: [{ ...PAIRS[0]!, fromMs: nowMs + 6 }] })).toEqual([`t/${long}`]);
    const shards = [computeShard({ tenant: 't', traceId: buildSessionTargetId(long) })];
    expect(await undecided({ shards })).toEqual([`t/${long}`]);
    await it.store.decisions.write([
      decided(done, '*', nowMs + 9, { status: 'scored', reason: 'superseded' }),
    ]);
    await it.store.runs.write([turn(done, nowMs + 8)]);
    expect(await undecided()).toContain(`/${done}`);
  });

  test('are late when a turn may have been stored after their decision had read the turns', async () => {
    const at = nowMs + 20;
    const [early, late] = [newTraceId(), newTraceId()];
    await it.store.runs.write([turn('late', at, { traceId: early, targetId: early })]);
    await it.store.decisions.write(['a', 'b'].map((scorer) => decided('late', scorer, at)));
    await it.store.runs.write([turn('late', at - 5, { traceId: late, targetId: late })]);

    const found = await it.store.sessions.undecided({ sinceMs: 0, pairs: PAIRS, shards: null, limit: 100 });

    expect(found.find(({ sessionId }) => sessionId === 'late')).toMatchObject({
      lastArrivalMs: at,
      turns: 2,
      isLate: true,
    });
    expect(found.findIndex(({ isLate }) => isLate)).toBeGreaterThan(
      found.findLastIndex(({ isLate }) => !isLate),
    );
  });

  test('list their newest turns and count all, each tenant its own', async () => {
    const ids = Array.from({ length: 5 }, newTraceId);
    await it.store.runs.write(
      ids.map((traceId, at) => turn('turns', nowMs + at, { traceId, targetId: traceId })),
    );
    await it.store.runs.write([turn('turns', nowMs, { tenant: 'other' })]);
    const { turns, count } = await it.store.sessions.turns({ tenant: '', sessionId: 'turns' }, 3);
    expect(turns.map(({ traceId }) => traceId)).toEqual(ids.slice(2).toReversed());
    expect(count).toBe(5);
    const asked = ['other', 'nobody', ''].map((tenant) => ({ tenant, sessionId: 'turns' }));
    const listed = await it.store.sessions.turnsOf(asked, 3);
    expect(listed.map((each) => [each.turns.length, each.count])).toEqual([
      [1, 1],
      [0, 0],
      [3, 5],
    ]);
    expect(listed[2]?.turns).toEqual(turns);
    expect(await it.store.sessions.find('turns')).toEqual([
      { tenant: '', sessionId: 'turns', firstArrivalMs: nowMs, lastArrivalMs: nowMs + 4 },
      { tenant: 'other', sessionId: 'turns', firstArrivalMs: nowMs, lastArrivalMs: nowMs },
    ]);
    expect(await it.store.sessions.activity({ tenant: 'nobody', sessionId: 'turns' })).toBeUndefined();
  });

  test('have deferred decisions of their own, with their own shards, and long ids are found by their hash', async () => {
    const sessionId = `due ${'x'.repeat(250)}`;
    const targetId = buildSessionTargetId(sessionId);
    const deferred = { status: 'deferred' as const, nextAttemptAt: nowMs };
    await it.store.decisions.write([
      decided(sessionId, 'a', nowMs, deferred),
      buildDecision({ ...deferred, traceId: newTraceId() }),
    ]);
    await it.store.runs.write([buildRunRecord({ traceId: '', target: 'session', targetId, sessionId })]);
    const query = { untilMs: nowMs, shards: null, limit: 10 };
    expect(await it.store.decisions.due({ ...query, ofSessions: true })).toMatchObject([{ targetId }]);
    expect(await it.store.decisions.due(query)).toHaveLength(1);
    const own = computeShard({ tenant: '', traceId: targetId });
    const inShard = (shard: number) =>
      it.store.decisions.due({ ...query, shards: [shard], ofSessions: true });
    expect(await inShard(own)).toHaveLength(1);
    expect(await inShard((own + 1) % 1_024)).toEqual([]);
    expect(await it.store.sessions.findIds([{ tenant: '', targetId }])).toEqual([{ tenant: '', sessionId }]);
  });

  test('that a budget holds back are found by their last turn, with their own shards, and not as due', async () => {
    const held = { status: 'deferred' as const, reason: 'budget_exhausted: spent', nextAttemptAt: nowMs };
    await it.store.decisions.write([
      decided('held early', 'a', nowMs - 2_000, held),
      decided('held late', 'a', nowMs - 1_000, held),
      decided('held and scored', 'a', nowMs - 1_000, held),
      decided('held and scored', 'a', nowMs, { status: 'scored' }),
      buildDecision({ ...held, traceId: newTraceId(), evidenceUntil: nowMs - 1_500 }),
    ]);
    const { decisions } = it.store;
    const query = { untilMs: nowMs, order: 'newest-first' as const, shards: null, limit: 10 };
    const targets = async (more: { ofSessions?: boolean; shards?: number[] }) =>
      (await decisions.heldBack({ ...query, ...more })).map(({ targetId }) => targetId);
    expect(await targets({ ofSessions: true })).toEqual(['held late', 'held early']);
    expect(await targets({})).toHaveLength(1);
    const shard = computeShard({ tenant: '', traceId: 'held early' });
    expect(await targets({ ofSessions: true, shards: [shard] })).toEqual(['held early']);
    const due = await decisions.due({ untilMs: nowMs, shards: null, limit: 10, ofSessions: true });
    expect(due.filter(({ targetId }) => targetId.startsWith('held'))).toEqual([]);
  });

  test('list when they got results, once for each state of their turns', async () => {
    const at = (evidenceUntil: number, fields = {}) => decided('limited', 'a', evidenceUntil, fields);
    const { decisions, sessions } = it.store;
    const writeAt = async (...rows: ReturnType<typeof at>[]) => {
      await decisions.write(rows);
      return it.store.spans.nowMs();
    };
    const firstMs = await writeAt(at(1), decided('limited', 'b', 1, { status: 'failed' }));
    const secondMs = await writeAt(at(2), at(2, { scorer: 'b' }), at(3, { status: 'sampled_out' }));
    await writeAt(at(4, { rule: 'other' }), at(5, { tenant: 'x' }), decided('unlimited', 'a', 6));
    const listed = (sinceMs: number) =>
      sessions.resultTimes({ tenant: '', targetId: 'limited', rules: ['s'], sinceMs });
    const [first, second, ...more] = await listed(nowMs - 60_000);
    expect([first! <= firstMs, second! >= firstMs && second! <= secondMs, more]).toEqual([true, true, []]);
    expect(await listed(second!)).toEqual([second]);
  });

  test('have their scores apart from those of their traces', async () => {
    const ofSession = buildScore({
      traceId: '',
      spanId: '',
      target: 'session',
      targetId: 'sc',
      sessionId: 'sc',
    });
    await it.store.scores.write([ofSession, buildScore({ sessionId: 'sc' })]);
    expect(await it.store.sessions.scores({ tenant: ofSession.tenant, sessionId: 'sc' })).toEqual([
      ofSession,
    ]);
    expect((await it.store.lists.scores({ sessionId: ['sc'] }, { limit: 10 })).items).toHaveLength(2);
  });

  test('are listed by their last turn, page by page', async () => {
    const tenant = 'ended';
    const at = (startedAt: number) => ({ tenant, startedAt });
    await it.store.runs.write([
      turn('b', nowMs, at(2_000)),
      turn('a', nowMs, at(2_000)),
      turn('a', nowMs + 1, at(1_000)),
      turn('goes on', nowMs, at(2_000)),
      turn('goes on', nowMs, at(9_000)),
      turn('before', nowMs, at(999)),
      turn('c', nowMs, at(3_000)),
      turn('a', nowMs, { ...at(2_500), tenant: 'ended-other' }),
    ]);
    const range = { tenant, fromMs: 1_000, toMs: 9_000 };
    const first = await it.store.sessions.list({ ...range, limit: 2 });
    expect(first).toEqual([
      { tenant, sessionId: 'a', firstArrivalMs: nowMs, lastArrivalMs: nowMs + 1, lastTurnMs: 2_000 },
      { tenant, sessionId: 'b', firstArrivalMs: nowMs, lastArrivalMs: nowMs, lastTurnMs: 2_000 },
    ]);
    const second = await it.store.sessions.list({ ...range, limit: 2, after: first.at(-1) });
    expect(second.map(({ sessionId }) => sessionId)).toEqual(['c']);
    const all = await it.store.sessions.list({ fromMs: 2_500, toMs: 2_501, limit: 9 });
    expect(all.map((each) => each.tenant)).toEqual(['ended-other']);
  });
});
