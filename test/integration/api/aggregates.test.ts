import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiServer } from '../../../src/api/server.ts';
import { refreshAggregates } from '../../../src/aggregates/refresh-aggregates.ts';
import { parseConfig } from '../../../src/configuration.ts';
import { createTenantStores } from '../../../src/api/tenant-store.ts';
import type { Score } from '../../../src/domain/score.ts';
import { anAlert, budgetAlert, resolvedEvent } from '../../support/builders/an-alert.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { startTestApi } from '../../support/api/start-test-api.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import {
  buildDecision,
  buildScore,
  newTraceId,
  testStore,
  type TestStore,
} from '../../support/store/store-rows.ts';

const HOUR_MS = 3_600_000;
/** Start of the present hour. */
const NOW_MS = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;

const token = (tenant: string) => ({
  name: tenant,
  token: `the-read-of-tenant-${tenant}`,
  tenant,
  scopes: ['read' as const],
});

const NO_SCALE = { scoreMin: null, scoreMax: null, higherIsBetter: null };

let it: TestStore;
let api: ApiServer;

/** Builds a score of tenant `a` some hours before now. Lower is better; the range is 0 to 1. */
function score(hoursAgo: number, fields: Partial<Score>): Score {
  return buildScore({
    tenant: 'a',
    scorer: 'bias',
    higherIsBetter: false,
    traceTimestamp: NOW_MS - hoursAgo * HOUR_MS,
    ...fields,
  });
}

beforeAll(async () => {
  it = await testStore();
  const oneTrace = { traceId: 'f'.repeat(32), target: 'model-call', scorer: 'tone' } as const;
  await it.store.scores.write([
    // 1 of 20 failed traces is scored with weight 1 each, others stand for 20.
    ...Array.from({ length: 4 }, () => score(1, { agent: 'x', score: 1, weight: 1, stratum: 'priority' })),
    score(1, { agent: 'x', score: 0, weight: 20 }),
    score(1, { agent: 'y', score: 0.25, weight: 1 }),
    score(2, { agent: 'y', score: 0.75, weight: null }),
    score(1, { agent: 'x', score: 1, weight: 1, source: 'backfill' }),
    ...Array.from({ length: 10 }, (_, index) => score(24 * 3, { score: (index + 1) / 100, weight: 1 })),
    score(1, { tenant: 'b', score: 0.9 }),
    ...Array.from({ length: 10 }, (_, call) =>
      score(1, { ...oneTrace, targetId: `${oneTrace.traceId}/${call}`, higherIsBetter: true, score: 0.5 }),
    ),
    // A cascade: 2 runs asked the first judge alone, and 1 the second, too, with the probability 0.5.
    ...[0.2, 0.4].map((first) =>
      score(1, {
        tenant: 'c',
        scorer: 'policy',
        score: first,
        firstScore: first,
        rung: 1,
        rungProbability: 0.5,
        weight: 1,
      }),
    ),
    score(1, {
      tenant: 'c',
      scorer: 'policy',
      score: 1,
      firstScore: 0.6,
      rung: 2,
      rungProbability: 0.5,
      weight: 1,
    }),
    ...[0.4, 0.6, 0.6].map((last, index) =>
      score(1, {
        tenant: 'c',
        scorer: 'passing',
        score: last,
        firstScore: index === 1 ? 0.4 : last,
        rung: index === 1 ? 2 : 1,
        rungProbability: 0.5,
        weight: 1,
      }),
    ),
    ...['refund', 'refund', 'other'].map((label) =>
      score(1, {
        tenant: 'c',
        scorer: 'intent',
        score: 1,
        label,
        scorerVersion: 'choice',
        ...NO_SCALE,
        weight: 1,
      }),
    ),
    score(1, { scorer: 'custom', score: -40, scoreMin: null, scoreMax: null, higherIsBetter: null }),
    score(1, { scorer: 'custom', score: 250, scoreMin: null, scoreMax: null, higherIsBetter: null }),
  ]);
  const decide = (fields: Parameters<typeof buildDecision>[0]) =>
    buildDecision({ tenant: 'a', rule: 'live', scorer: 'bias', evidenceUntil: NOW_MS, ...fields });
  // The run of the last one began two days ago and came today.
  const decisions = [decide({}), decide({ status: 'failed' }), decide({ tenant: 'b' }), decide({})];
  await it.store.decisions.write(decisions);
  await it.store.runs.write(
    decisions.map(({ tenant, traceId }, index) =>
      buildRunRecord({
        tenant,
        traceId,
        agent: index === 0 ? 'x' : 'y',
        startedAt: NOW_MS - (index === 3 ? 48 : 1) * HOUR_MS,
        toolErrors: index,
        ...(index === 0 ? { costUsd: 0.5 } : {}),
      }),
    ),
  );
  await refreshAggregates(it.store.aggregates);
  const findStore = await createTenantStores({ config: parseConfig({}), store: it.store });
  api = await startTestApi({
    tokens: [token('a'), token('b'), token('c'), token('late')],
    findStore,
  });
});
afterAll(async () => {
  await api.stop();
  await it.stop();
});

interface Reply {
  readonly items: readonly Record<string, unknown>[];
  readonly [name: string]: unknown;
}

async function ask(path: string, tenant = 'a'): Promise<{ status: number; body: Reply }> {
  const response = await fetch(`http://127.0.0.1:${api.address.port}/api/v1/${path}`, {
    headers: { authorization: `Bearer the-read-of-tenant-${tenant}` },
  });
  return { status: response.status, body: (await response.json()) as Reply };
}

const hour = (hoursAgo: number) => new Date(NOW_MS - hoursAgo * HOUR_MS).toISOString();

describe('GET /series', () => {
  test('gives weighted numbers for each hour with scores', async () => {
    const { status, body } = await ask('series?scorer=bias&bucket=1h');
    expect(status).toBe(200);
    expect(body).toMatchObject({ bucket: '1h', next: null, truncatedGroups: 0 });
    expect(body.items).toEqual([
      {
        bucket: hour(2),
        scorer: 'bias',
        n: 1,
        unweighted: 1,
        weight: 1,
        effectiveN: 1,
        mean: 0.75,
        p10: 0.75,
        p50: 0.75,
        p90: 0.75,
        passRate: 0,
        pass: { value: 0, low: 0, high: expect.closeTo(0.793, 3) as number, n: 1, effectiveN: 1 },
      },
      {
        bucket: hour(1),
        scorer: 'bias',
        n: 6,
        unweighted: 0,
        weight: 25,
        effectiveN: expect.closeTo(625 / 405) as number,
        mean: expect.closeTo(4.25 / 25) as number,
        p10: 0,
        p50: 0,
        p90: 1,
        passRate: 20 / 25,
        pass: expect.objectContaining({ value: 20 / 25, n: 6 }) as object,
      },
    ]);
  });

  test('weighs what the second judge of a cascade changed by the probability that it was asked', async () => {
    const mean = expect.closeTo((0.2 + 0.4 + 0.6 + (1 - 0.6) / 0.5) / 3) as number;
    const { body } = await ask('series?scorer=policy&bucket=1h', 'c');
    // Less is better and the bar is 0.5: 0.2 and 0.4 pass, 0.6 does not, and the score of the second judge does not either.
    const sums = { n: 3, mean, passRate: expect.closeTo(2 / 3) as number, p10: 0.2, p90: 1 };
    expect(body).toMatchObject({ items: [sums], groups: [sums] });
    expect(body.items[0]).not.toHaveProperty('labels');
    const sql = `SELECT sum(MeanScore * Weight) / sum(Weight) AS mean FROM corrected_scores WHERE Scorer = 'policy'`;
    expect(await queryRows(it.options, sql)).toEqual([{ mean }]);
  });

  test('has the pass rate that a cascade would have if the second judge were asked about all', async () => {
    const { body } = await ask('series?scorer=passing&bucket=1h', 'c');
    // First 0.4, 0.4 and 0.6; the second judge turned one 0.4, which stands for two runs, into 0.6: all of these pass no more.
    expect(body).toMatchObject({ items: [{ n: 3, passRate: 0 }] });
  });

  test('counts the labels of a scorer that chooses among options, and gives them no mean', async () => {
    const counted = { n: 3, mean: null, p50: null, passRate: null, labels: { refund: 2, other: 1 } };
    const { body } = await ask('series?scorer=intent&bucket=1h&by=agent', 'c');
    expect(body).toMatchObject({ items: [counted], groups: [{ ...counted, higherIsBetter: null }] });
    const overview = await ask('overview', 'c');
    expect(overview.body.items).toContainEqual(
      expect.objectContaining({ scorer: 'intent', n: 3, mean: null }),
    );
  });

  test('gives a group for each value of one facet or two, with the numbers of its whole range', async () => {
    const { body } = await ask('series?scorer=bias&by=agent');
    expect(body['groups']).toMatchObject([
      { scorer: 'bias', agent: 'x', n: 5, mean: 4 / 24, scoreMin: 0, scoreMax: 1, higherIsBetter: false },
      { scorer: 'bias', agent: 'y', n: 2, unweighted: 1, mean: 0.25 },
    ]);
    const both = await ask('series?scorer=bias&by=agent&by=service&bucket=1d');
    expect(both.body['groups']).toMatchObject([
      { agent: 'x', service: 'shop', n: 5 },
      { agent: 'y', service: 'shop', n: 2 },
    ]);
    expect((await ask('series?scorer=bias&by=agent,service')).body['groups']).toHaveLength(2);
  });

  test('counts the scores of one trace as one observation', async () => {
    const { body } = await ask('series?scorer=tone');
    expect(body.items).toMatchObject([{ n: 10, effectiveN: 1, mean: 0.5, passRate: 1 }]);
  });

  test('says from which score on a score passes, if asked, by the direction of the scorer', async () => {
    expect((await ask('series?scorer=bias&passAt=0.3')).body['groups']).toMatchObject([
      { passRate: 21 / 25 },
    ]);
  });

  test('has the scores of the fourteen days before as a baseline', async () => {
    const { body } = await ask('series?scorer=bias');
    expect(body['baseline']).toEqual({
      mean: expect.closeTo(0.055) as number,
      p10: expect.closeTo(0.01) as number,
      p90: expect.closeTo(0.09) as number,
      n: 10,
      from: 'history',
    });
  });

  test('has numbers of a scorer without a range, within one percent', async () => {
    const { body } = await ask('series?scorer=custom');
    const [point] = body.items as { mean: number; p10: number; p90: number; passRate: null }[];
    expect(point).toMatchObject({ mean: 105, passRate: null });
    expect(Math.abs((point?.p10 ?? 0) + 40)).toBeLessThan(0.4);
    expect(Math.abs((point?.p90 ?? 0) - 250)).toBeLessThan(2.5);
  });

  test('never mixes sources, and chooses by any facet', async () => {
    expect((await ask('series?scorer=bias&source=backfill')).body.items).toMatchObject([{ n: 1, mean: 1 }]);
    expect((await ask('series?scorer=bias&agent=y')).body['groups']).toMatchObject([{ n: 2 }]);
    expect((await ask('series?scorer=bias&agent=y&agent=x')).body['groups']).toMatchObject([{ n: 7 }]);
    expect((await ask('series?scorer=bias&agent=z')).body.items).toEqual([]);
  });

  test('shows a tenant its own scores only', async () => {
    expect((await ask('series?scorer=bias', 'b')).body['groups']).toMatchObject([{ n: 1, mean: 0.9 }]);
    expect((await ask('series?scorer=custom', 'b')).status).toBe(404);
  });

  test('refuses an unknown scorer, wrong buckets, too many buckets, and a limit that is no number', async () => {
    expect(await ask('series?scorer=bais')).toMatchObject({
      status: 404,
      body: { detail: 'there is no scorer bais; did you mean bias?' },
    });
    expect(await ask('series?scorer=bias&bucket=90m')).toMatchObject({
      status: 400,
      body: { detail: 'bucket: write whole hours up to a day, or whole days up to 366d: 1h, 6h, 1d, 7d' },
    });
    expect(await ask('series?scorer=bias&bucket=999999999d')).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('up to 366d') as string },
    });
    expect(await ask('series?scorer=bias&since=2262-01-01&until=2262-04-11&bucket=366d')).toMatchObject({
      status: 200,
    });
    expect(await ask('series?scorer=bias&bucket=1h&since=90d')).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('a reply has 1000 at most') as string },
    });
    expect(await ask('series?scorer=bias&passAt=')).toMatchObject({
      status: 400,
      body: { detail: 'passAt: write a number: 0.5' },
    });
    expect(await ask('series?scorer=bias&passAt=1e999')).toMatchObject({
      status: 400,
      body: { detail: 'passAt: write a smaller number' },
    });
    expect(await ask('series?scorer=bias&by=agent&by=model&by=service')).toMatchObject({ status: 400 });
    expect(await ask('series?scorer=bias&agnet=x')).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('did you mean agent?') as string },
    });
  });
});

describe('scores that no pass has summed yet', () => {
  beforeAll(async () => {
    // Late traces of some days, among them summed hours, and a scorer without any sum.
    await it.store.scores.write(
      [1, 2, 30, 50].map((hoursAgo) =>
        score(hoursAgo, { tenant: 'late', agent: 'x', scorer: 'tone', higherIsBetter: true, score: 0.5 }),
      ),
    );
    await refreshAggregates(it.store.aggregates);
    await it.store.scores.write(
      [1, 3, 30, 74].map((hoursAgo) =>
        score(hoursAgo, { tenant: 'late', agent: 'y', scorer: 'tone', higherIsBetter: true, score: 1 }),
      ),
    );
    await it.store.scores.write([score(3, { tenant: 'late', scorer: 'fresh' })]);
  });

  test('are in totals, points, segments and distributions alike', async () => {
    for (const range of ['since=5d&bucket=1h', 'since=5d&bucket=1d', 'since=6d&bucket=1d&until=0d']) {
      const { body } = await ask(`series?scorer=tone&${range}`, 'late');
      const split = await ask(`series?scorer=tone&by=agent&${range}`, 'late');
      expect(body['groups']).toMatchObject([{ n: 8, mean: 0.75, passRate: 1, p90: 1 }]);
      expect(split.body['groups']).toMatchObject([
        { agent: 'x', n: 4 },
        { agent: 'y', n: 4 },
      ]);
      const points = body.items as { n: number }[];
      expect(points.reduce((sum, { n }) => sum + n, 0)).toBe(8);
    }
    expect((await ask('distribution?scorer=tone&since=5d', 'late')).body['current']).toMatchObject({ n: 8 });
  });

  test('are in the overview, which says how far the sums are behind', async () => {
    const { body } = await ask('overview', 'late');
    expect(body.items).toMatchObject([
      { scorer: 'fresh', n: 1 },
      { scorer: 'tone', n: 4 },
    ]);
    expect((body['sums'] as { behindSeconds: number }).behindSeconds).toBeGreaterThan(0);
    expect((await ask('series?scorer=fresh', 'late')).body.items).toMatchObject([{ n: 1 }]);
    await refreshAggregates(it.store.aggregates);
    expect((await ask('overview', 'late')).body['sums']).toEqual({ behindSeconds: 0 });
  });
});

describe('GET /distribution', () => {
  test('gives equal bins of the range, of now and of the days before', async () => {
    const { status, body } = await ask('distribution?scorer=bias&bins=10');
    expect(status).toBe(200);
    expect(body).toMatchObject({ scorer: 'bias', scoreMin: 0, scoreMax: 1, compareTo: 'baseline' });
    expect(body['edges']).toHaveLength(11);
    expect(body['current']).toMatchObject({
      n: 7,
      counts: [1, 0, 1, 0, 0, 0, 0, 0, 0, 4],
      shares: [20 / 25, 0, 1 / 25, 0, 0, 0, 0, 0, 0, 4 / 25],
    });
    expect(body['reference']).toMatchObject({ n: 10, counts: [9, 1, 0, 0, 0, 0, 0, 0, 0, 0] });
  });

  test('compares with the same time before, or with nothing', async () => {
    const { body } = await ask('distribution?scorer=bias&since=2h&compareTo=previous');
    expect(body['reference']).toBeNull();
  });
});

describe('GET /overview', () => {
  test('gives a line for each scorer with 24 buckets', async () => {
    const { status, body } = await ask('overview');
    expect(status).toBe(200);
    const [bias, custom, tone] = body.items as Record<string, never>[];
    expect([bias?.['scorer'], custom?.['scorer'], tone?.['scorer']]).toEqual(['bias', 'custom', 'tone']);
    expect(bias).toMatchObject({ n: 7, eligible: 2, incident: null, baseline: { n: 10 } });
    const series = (bias?.['series'] ?? []) as { bucket: string; n: number }[];
    expect(series).toHaveLength(24);
    expect(series.slice(-3)).toMatchObject([
      { bucket: hour(2), n: 1 },
      { bucket: hour(1), n: 6 },
      { bucket: hour(0), n: 0, mean: null },
    ]);
    expect((await ask('overview?bucket=1d')).body.items).toMatchObject([{ n: 17, eligible: null }, {}, {}]);
  });

  test('counts scored and eligible pairs by the start of the run, as the funnel does, and neither where runs lack the facet', async () => {
    for (const [agent, scored, eligible] of [
      ['', 1, 2],
      ['&agent=x', 1, 1],
    ] as const) {
      const [bias] = (await ask(`overview?bucket=1h${agent}`)).body.items;
      expect(bias).toMatchObject({ scored, eligible });
      expect((await ask(`coverage/funnel?since=24h${agent}`)).body).toMatchObject({ scored, eligible });
    }
    const part = (await ask('overview?service=shop')).body;
    expect(part).toMatchObject({ figures: null, items: [{ scored: null, eligible: null }, {}, {}] });
  });

  test('has the figures of all runs of its range', async () => {
    expect((await ask('overview')).body['figures']).toMatchObject({
      runs: 2,
      // Six runs of weight 1 that fail; one of 20 and one of 1 that pass.
      pass: { value: expect.closeTo(21 / 27) as number, n: 8 },
      toolErrors: { value: 0.5, n: 2 },
      agentUsd: 0.5,
      unpriced: 1,
      judgeUsd: null,
    });
    expect((await ask('overview?since=3d')).body['figures']).toMatchObject({ runs: 3 });
    expect((await ask('overview?since=1m')).body['figures']).toMatchObject({ runs: 0, pass: null });
  });

  test('names what is open: incidents, muted ones marked, and alerts about budgets', async () => {
    const series = { ...anAlert().series, tenant: 'a', scorer: 'bias' };
    const incident = anAlert({ alert: 'Muted', series });
    const spent = anAlert({ ...budgetAlert(80, 4.1), series: { ...series, scorer: '' } });
    await it.store.alerts.write([incident, spent]);
    await it.store.alerts.mute({ tenant: '*', subject: 'Muted', untilMs: Date.now() + HOUR_MS });
    const { body } = await ask('overview');
    expect(body['incidents']).toMatchObject([{ alert: 'Muted', scorer: 'bias', muted: true }]);
    expect(body['budgets']).toMatchObject([
      { summary: expect.stringMatching(/budget of 5 USD a UTC day: 80 % is reached/), muted: false },
    ]);
    await it.store.alerts.write([resolvedEvent(incident), resolvedEvent(spent)]);
  });

  test('shows a tenant its own scorers only', async () => {
    expect((await ask('overview', 'b')).body.items).toMatchObject([{ scorer: 'bias', n: 1, eligible: 1 }]);
  });
});

describe('GET /compare', () => {
  beforeAll(async () => {
    const targets = Array.from({ length: 50 }, (_, index) => {
      const [left, right] = index < 20 ? [0.1, 1] : index < 25 ? [0.2, 0] : index < 35 ? [0.9, 1] : [0.8, 0];
      return { traceId: newTraceId(), left, right };
    });
    const human = { source: 'human', scoreMin: null, scoreMax: null, higherIsBetter: null } as const;
    await it.store.scores.write(
      targets.flatMap(({ traceId, left, right }) => [
        score(30, { traceId, targetId: traceId, scorer: 'rudeness', fingerprint: 'ab12', score: left }),
        score(30, { traceId, targetId: traceId, scorer: 'correctness', score: right, ...human }),
      ]),
    );
    await refreshAggregates(it.store.aggregates);
  });

  test('gives agreement, kappa with its interval, rank correlation and the traces without agreement', async () => {
    const { status, body } = await ask('compare?left=rudeness&right=human:correctness');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      n: 50,
      agreement: 0.7,
      kappa: expect.closeTo(0.4) as number,
      confusion: { bothPass: 20, leftPasses: 5, rightPasses: 10, bothFail: 15 },
    });
    expect(body['kappaLow']).toBeLessThan(0.4);
    expect(body['kappaHigh']).toBeGreaterThan(0.4);
    expect(body['spearman']).toBeCloseTo(0.298, 3);
    expect(body['disagreements']).toHaveLength(15);
  });

  test('compares versions by their fingerprints, and knows no targets of another tenant', async () => {
    const same = await ask('compare?left=rudeness@ab12&right=rudeness');
    expect(same.body).toMatchObject({ n: 50, agreement: 1, kappa: 1, disagreements: [] });
    const other = await ask('compare?left=rudeness@ab13&right=rudeness');
    expect(other.body).toMatchObject({ n: 0, agreement: null });
    expect((await ask('compare?left=rudeness&right=human:correctness', 'b')).status).toBe(404);
  });

  test('leaves out deleted scores', async () => {
    const [gone, peer] = ['rudeness', 'tone'].map((scorer) =>
      score(40, { traceId: 'd'.repeat(32), targetId: 'd'.repeat(32), scorer, fingerprint: 'dd' }),
    );
    await it.store.scores.write([gone, peer].flatMap((each) => each ?? []));
    expect((await ask('compare?left=rudeness@dd&right=tone@dd')).body).toMatchObject({ n: 1 });
    await it.store.scores.write([gone].flatMap((each) => (each ? { ...each, isDeleted: true } : [])));
    expect((await ask('compare?left=rudeness@dd&right=tone@dd')).body).toMatchObject({ n: 0 });
  });
});
