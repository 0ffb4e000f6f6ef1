import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Decision } from '../../../src/domain/decision.ts';
import type { CoverageRow } from '../../../src/store/contracts/sums.ts';
import type { CoveredPair } from '../../../src/store/contracts/stores.ts';
import { runCommand } from '../../support/store/clickhouse-query.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import {
  buildDecision,
  buildSpan,
  newTraceId,
  testStore,
  type TestStore,
} from '../../support/store/store-rows.ts';
import { store as ingest } from '../../support/store/stored-agent.ts';

const NOW_MS = Date.now();

let it: TestStore;

beforeAll(async () => {
  it = await testStore();
});
afterAll(() => it.stop());

/** A tenant of its own for each test. */
function newTenant(): string {
  return `t-${randomBytes(4).toString('hex')}`;
}

function pair(rule: string, scorer: string, fields: Partial<CoveredPair> = {}): CoveredPair {
  return { rule, scorer, fromMs: 0, untilMs: Infinity, ...fields };
}

const PAIRS = [pair('live', 'tone'), pair('live', 'bias')];

async function count(tenant: string, pairs: readonly CoveredPair[] = PAIRS, sinceMs = NOW_MS - 60_000) {
  const { rows } = await it.store.coverage.decided({ sinceMs, tenant, pairs });
  return rows.map(({ scorer, status, reason, decisions }) => [scorer, status, reason, decisions]);
}

function decide(tenant: string, fields: Partial<Decision> = {}): Decision {
  return buildDecision({ tenant, rule: 'live', scorer: 'tone', evidenceUntil: NOW_MS, ...fields });
}

describe('coverage', () => {
  test('counts the current row of each target, rule and scorer', async () => {
    const tenant = newTenant();
    const deferred = decide(tenant, { status: 'deferred', reason: 'judge_rate_limited: wait' });
    await it.store.decisions.write([deferred, decide(tenant)]);
    await it.store.decisions.write([{ ...deferred, status: 'scored', reason: '', attempts: 1 }]);
    await it.store.decisions.write([
      { ...deferred, status: 'failed', evidenceUntil: NOW_MS - 5, attempts: 9 },
    ]);
    expect(await count(tenant)).toEqual([['tone', 'scored', '', 2]]);
    await runCommand(
      it.options,
      `DELETE FROM ${it.options.database}.decisions WHERE TraceId = '${deferred.traceId}'`,
    );
    expect(await count(tenant)).toEqual([['tone', 'scored', '', 1]]);
  });

  test('gives the same numbers by the arrivals, once they reach back far enough', async () => {
    const tenant = newTenant();
    const row = decide(tenant, { status: 'failed', reason: 'timeout: x' });
    await it.store.decisions.write([
      row,
      decide(tenant, { scorer: '*', status: 'filtered', reason: 'filtered' }),
    ]);
    await it.store.decisions.write([{ ...row, attempts: 1, status: 'scored', reason: '' }]);
    const sinceMs = NOW_MS - 60_000;
    const before = await it.store.coverage.decided({ sinceMs, tenant, pairs: PAIRS });
    const arrivals = `${it.options.database}.decision_arrivals`;
    await runCommand(it.options, `INSERT INTO ${arrivals} (WrittenAt) VALUES (now64(3) - toIntervalDay(2))`);
    try {
      await runCommand(it.options, `DELETE FROM ${it.options.database}.decisions WHERE Tenant = '${tenant}'`);
      expect(before.rows).toHaveLength(3);
      expect(await it.store.coverage.decided({ sinceMs, tenant, pairs: PAIRS })).toEqual(before);
      expect(await count(tenant, PAIRS, NOW_MS - 3 * 86_400_000)).toEqual([]);
    } finally {
      await runCommand(it.options, `TRUNCATE TABLE ${arrivals}`);
    }
  });

  test('counts targets by their last span: a row from before does not come back', async () => {
    const tenant = newTenant();
    const row = decide(tenant, { evidenceUntil: NOW_MS - 120_000, status: 'failed', reason: 'timeout: x' });
    await it.store.decisions.write([row]);
    expect(await count(tenant)).toEqual([]);
    await it.store.decisions.write([{ ...row, evidenceUntil: NOW_MS, status: 'scored', reason: '' }]);
    expect(await count(tenant)).toEqual([['tone', 'scored', '', 1]]);
  });

  test('counts a verdict on a whole rule once for each scorer that the rule had', async () => {
    const tenant = newTenant();
    const verdict = { scorer: '*', status: 'sampled_out', reason: 'sampled_out: not', weight: null } as const;
    const traceId = newTraceId();
    await it.store.decisions.write([
      decide(tenant, verdict),
      // A trace that was scored before has a row of the scorer with the verdict, too.
      decide(tenant, { ...verdict, traceId }),
      decide(tenant, { ...verdict, traceId, scorer: 'tone' }),
    ]);
    const pairs = [...PAIRS, pair('live', 'later', { fromMs: NOW_MS + 1 }), pair('other', 'tone')];
    expect(await count(tenant, pairs)).toEqual([
      ['bias', 'sampled_out', 'sampled_out', 2],
      ['tone', 'sampled_out', 'sampled_out', 2],
    ]);
    expect(await count(tenant, [])).toEqual([
      ['*', 'sampled_out', 'sampled_out', 1],
      ['tone', 'sampled_out', 'sampled_out', 1],
    ]);
  });

  test('leaves out a verdict that later spans have withdrawn', async () => {
    const tenant = newTenant();
    const verdict = decide(tenant, { scorer: '*', status: 'not_applicable', reason: 'no_output: none' });
    const later = { ...verdict, evidenceUntil: NOW_MS + 1, status: 'scored', reason: '' } as const;
    await it.store.decisions.write([verdict]);
    await it.store.decisions.write([
      { ...later, reason: 'superseded: later spans' },
      { ...later, scorer: 'tone' },
    ]);
    expect(await count(tenant)).toEqual([['tone', 'scored', '', 1]]);
  });

  test('adds the weights, and the services of traces and sessions', async () => {
    const tenant = newTenant();
    const traceId = newTraceId();
    const known = { tenant, traceId, evidenceUntil: NOW_MS };
    await it.store.runs.write([
      buildRunRecord({ ...known, targetId: traceId, serviceName: 'shop' }),
      buildRunRecord({ ...known, targetId: `${traceId}/1`, serviceName: 'other' }),
      buildRunRecord({ ...known, traceId: '', target: 'session', targetId: 'chat', serviceName: 'desk' }),
    ]);
    await it.store.decisions.write([
      decide(tenant, { traceId, weight: 10 }),
      decide(tenant, { traceId, target: 'model-call', targetId: `${traceId}/aa`, weight: 10 }),
      decide(tenant, { traceId: '', target: 'session', targetId: 'chat', weight: null }),
      decide(tenant, { weight: 2.5 }),
      decide(tenant, { traceId, target: 'agent', scorer: '*', status: 'filtered', weight: null }),
    ]);
    const { rows } = await it.store.coverage.decided({ sinceMs: 0, tenant, pairs: PAIRS, byService: true });
    expect(
      rows.map(({ service, weight, decisions, unweighted }: CoverageRow) => [
        service,
        weight,
        decisions,
        unweighted,
      ]),
    ).toEqual([
      // The verdict on the whole rule, for the scorer bias.
      ['shop', 0, 1, 1],
      ['', 2.5, 1, 0],
      ['desk', 0, 1, 1],
      // The same verdict, for the scorer tone.
      ['shop', 0, 1, 1],
      ['shop', 20, 2, 0],
    ]);
  });

  test('counts traces and sessions that wait for a first decision of a scorer', async () => {
    const tenant = newTenant();
    const [first, second] = [buildSpan(), buildSpan()];
    await ingest(it.store, [first, second, buildSpan({ attributes: new Map() })], tenant);
    await it.store.runs.write([
      buildRunRecord({ tenant, sessionId: 'chat-1', evidenceUntil: NOW_MS }),
      buildRunRecord({ tenant, sessionId: 'chat-2', evidenceUntil: NOW_MS }),
    ]);
    await it.store.decisions.write([
      // The row of before the last span is a decision: only its renewal waits.
      decide(tenant, { traceId: first.traceId, evidenceUntil: 1_000 }),
      decide(tenant, {
        traceId: '',
        target: 'session',
        targetId: 'chat-1',
        rule: 'chats',
        scorer: '*',
        status: 'filtered',
      }),
    ]);
    const pairs = [
      ...PAIRS,
      pair('live', 'later', { fromMs: NOW_MS + 3_600_000 }),
      pair('chats', 'tone', { ofSessions: true }),
    ];
    const query = { sinceMs: NOW_MS - 60_000, nowMs: Date.now(), tenant, pairs };
    expect(await it.store.coverage.waiting(query)).toEqual([
      { rule: 'chats', scorer: 'tone', waiting: 1 },
      { rule: 'live', scorer: 'bias', waiting: 2 },
      { rule: 'live', scorer: 'tone', waiting: 1 },
    ]);
    expect(await it.store.coverage.waiting({ ...query, pairs: [] })).toEqual([]);
  });
});
