import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatChecked } from '../../../src/dashboard/view-models/rates.ts';
import { computeAuthorFingerprint, computeScoreId } from '../../../src/domain/identity.ts';
import type { Score } from '../../../src/domain/score.ts';
import { apiWorld, tokenOf, type ApiWorld } from '../../support/api/api-world.ts';
import { jsonLines } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { agentRunSpans, store as ingest } from '../../support/store/stored-agent.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { buildScore, newSpanId, newTraceId, storeFlags } from '../../support/store/store-rows.ts';

let world: ApiWorld;
const cwd = mkdtempSync(join(tmpdir(), 'spanscore-labels-'));

beforeAll(async () => {
  world = await apiWorld();
});
afterAll(async () => {
  await world.stop();
  rmSync(cwd, { recursive: true, force: true });
});

const LABEL_A = tokenOf('label', 'a');

interface Item {
  readonly traceId: string;
  readonly spanId: string;
  readonly targetId: string;
  readonly run: { readonly output: readonly unknown[] } | null;
}

interface Queue {
  readonly labelled: number;
  readonly left: number;
  readonly items: readonly Item[];
}

async function readQueue(query: string, token = LABEL_A): Promise<Queue> {
  const answer = await world.ask({ path: `/labels/queue?${query}`, token });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body as unknown as Queue;
}

const post = (body: object, token = LABEL_A) => world.ask({ method: 'POST', path: '/labels', body, token });

/** Stores scores of a scorer of tenant a: one for each number. */
async function storeScores(scorer: string, scores: readonly number[], more: Partial<Score> = {}) {
  const rows = scores.map((score) =>
    buildScore({ tenant: 'a', scorer, score, label: score < 0.5 ? 'bad' : 'ok', ...more }),
  );
  await world.store.scores.write(rows);
  return rows;
}

const traceIdsOf = ({ items }: Queue) => items.map(({ traceId }) => traceId);

describe('GET /labels/queue', () => {
  it('gives targets of each verdict, however rare it is', async () => {
    const frequent = await storeScores(
      'strata',
      Array.from({ length: 20 }, () => 0.9),
    );
    const rare = await storeScores('strata', [0.1, 0.3]);
    const { items, left, labelled } = await readQueue('scorer=strata&limit=5');
    expect({ left, labelled }).toEqual({ left: 22, labelled: 0 });
    const found = items.map(({ traceId }) => traceId);
    expect(found).toHaveLength(5);
    expect(found).toEqual(expect.arrayContaining(rare.map(({ traceId }) => traceId)));
    expect(frequent.filter(({ traceId }) => found.includes(traceId))).toHaveLength(3);
  });

  it('comes with the run to read, and with nothing that tells the score', async () => {
    const traceId = newTraceId();
    await ingest(world.store, agentRunSpans(traceId), 'a');
    await storeScores('blind', [0.123_456], {
      traceId,
      reason: 'the-secret-reason',
      label: 'the-secret-label',
    });
    const answer = await world.ask({ path: '/labels/queue?scorer=blind', token: LABEL_A });
    expect(answer.body).toMatchObject({
      scorer: 'blind',
      strategy: 'stratified',
      reviewer: 'label of a',
      higherIsBetter: true,
      scoreMin: 0,
      scoreMax: 1,
      items: [{ tenant: 'a', target: 'trace', targetId: traceId, traceId, spanId: '', service: 'shop' }],
    });
    const [item] = (answer.body as unknown as Queue).items;
    expect(item?.run?.output.length).toBeGreaterThan(0);
    expect(JSON.stringify(answer.body)).not.toMatch(/secret|0\.123/);
    expect(Object.keys(item ?? {})).not.toEqual(expect.arrayContaining(['draw']));
    expect(Object.keys(item ?? {})).not.toEqual(expect.arrayContaining(['passes']));
  });

  it('keeps its order for a reviewer during a day, and has another one for another reviewer', async () => {
    await storeScores(
      'ordered',
      Array.from({ length: 12 }, () => 0.9),
    );
    const ann = await readQueue('scorer=ordered&reviewer=ann&limit=12');
    expect(traceIdsOf(await readQueue('scorer=ordered&reviewer=ann&limit=12'))).toEqual(traceIdsOf(ann));
    expect(traceIdsOf(await readQueue('scorer=ordered&reviewer=ann&limit=4'))).toEqual(
      traceIdsOf(ann).slice(0, 4),
    );
    const bob = await readQueue('scorer=ordered&reviewer=bob&limit=12');
    expect(traceIdsOf(bob)).not.toEqual(traceIdsOf(ann));
    expect(traceIdsOf(bob).toSorted()).toEqual(traceIdsOf(ann).toSorted());
  });

  it('draws the same targets of many as of all, also when few of a verdict are left', async () => {
    const numbers = Array.from({ length: 30 }, (_, at) => at);
    await storeScores(
      'drawn',
      numbers.map(() => 0.9),
    );
    const bad = await storeScores(
      'drawn',
      numbers.map(() => 0.1),
    );
    const all = await readQueue('scorer=drawn&reviewer=ann&limit=20');
    for (const limit of [1, 2]) {
      const some = await readQueue(`scorer=drawn&reviewer=ann&limit=${limit}`);
      expect({ left: some.left, items: traceIdsOf(some) }).toEqual({
        left: 60,
        items: traceIdsOf(all).slice(0, limit),
      });
    }

    const [last, ...labelled] = bad;
    await world.store.scores.write(
      labelled.map(({ traceId, targetId }) => {
        const fingerprint = computeAuthorFingerprint('human', 'ann');
        const key = { tenant: 'a', target: 'trace', targetId, scorer: 'drawn', fingerprint } as const;
        return buildScore({ ...key, traceId, source: 'human', scoreId: computeScoreId(key), score: 0 });
      }),
    );
    const rest = await readQueue('scorer=drawn&reviewer=ann&limit=2');
    expect({ ...rest, items: traceIdsOf(rest) }).toMatchObject({ labelled: 29, left: 31 });
    expect(traceIdsOf(rest)).toContain(last?.traceId);
  });

  it('leaves out what the reviewer has labelled, but not for another reviewer', async () => {
    const [one, two] = await storeScores('leaving', [0.9, 0.1]);
    const stored = await post({ traceId: one?.traceId, scorer: 'leaving', passes: true, reviewer: 'ann' });
    expect(stored.status).toBe(201);
    const ann = await readQueue('scorer=leaving&reviewer=ann');
    expect({ ...ann, items: traceIdsOf(ann) }).toMatchObject({ labelled: 1, left: 1, items: [two?.traceId] });
    expect(await readQueue('scorer=leaving&reviewer=bob')).toMatchObject({ labelled: 0, left: 2 });
  });

  it('gives and counts the targets of an agent, or of an environment', async () => {
    const [shop] = await storeScores('by-agent', [0.9, 0.1], { agent: 'shop-agent', environment: 'live' });
    const [desk] = await storeScores('by-agent', [0.9], { agent: 'desk-agent', environment: 'test' });
    await post({ traceId: shop?.traceId, scorer: 'by-agent', passes: true, reviewer: 'ann' });
    const ask = (choice: string) => readQueue(`scorer=by-agent&reviewer=ann&${choice}`);
    expect(await ask('agent=shop-agent')).toMatchObject({ labelled: 1, left: 1 });
    const ofDesk = await ask('agent=desk-agent');
    expect({ ...ofDesk, items: traceIdsOf(ofDesk) }).toMatchObject({
      labelled: 0,
      left: 1,
      items: [desk?.traceId],
    });
    expect(traceIdsOf(await ask('environment=test'))).toEqual([desk?.traceId]);
    expect(await ask('agent=shop-agent&agent=desk-agent')).toMatchObject({ labelled: 1, left: 2 });
    expect(await ask('agent=shop-agent&environment=test')).toMatchObject({ labelled: 0, left: 0 });
  });

  it('gives second readers what one other has labelled, and a third one what both disagree on, whose label decides', async () => {
    const [divided, agreed, once] = await storeScores('read-twice', [0.9, 0.9, 0.9, 0.9]);
    const label = async (score: Score | undefined, reviewer: string, passes: boolean) =>
      expect((await post({ traceId: score?.traceId, scorer: 'read-twice', passes, reviewer })).status).toBe(
        201,
      );
    const ask = async (strategy: string, reviewer: string) =>
      traceIdsOf(await readQueue(`scorer=read-twice&strategy=${strategy}&reviewer=${reviewer}`));
    await label(divided, 'ann', true);
    await label(divided, 'bob', false);
    await label(agreed, 'ann', false);
    await label(agreed, 'bob', false);
    await label(once, 'ann', false);
    expect(await ask('second', 'bob')).toEqual([once?.traceId]);
    expect(await ask('second', 'ann')).toEqual([]);
    expect(await ask('adjudicate', 'bob')).toEqual([]);
    expect(await ask('adjudicate', 'cy')).toEqual([divided?.traceId]);
    const countGood = async () => {
      const path = '/labels/agreement?scorer=read-twice';
      const { versions } = (await world.ask({ path, token: tokenOf('read', 'a') })).body;
      return (versions as { confusion: { bothPass: number } }[])[0]?.confusion.bothPass;
    };
    expect(await countGood()).toBe(1);
    await label(divided, 'cy', false);
    expect(await countGood()).toBe(0);
    expect(await ask('adjudicate', 'dee')).toEqual([]);
  });

  it('shows a target once, by its newest score, and no deleted or posted scores', async () => {
    const [old] = await storeScores('newest', [0.9], { scoredAt: Date.now() - 60_000 });
    const { traceId } = old ?? {};
    await storeScores('newest', [0.1], { traceId: traceId ?? '', fingerprint: 'f2' });
    await storeScores('newest', [0.1], { isDeleted: true });
    await storeScores('newest', [0.1], { source: 'api' });
    expect(traceIdsOf(await readQueue('scorer=newest'))).toEqual([traceId]);
  });

  it('names the span of an agent target, which the label takes', async () => {
    const [traceId, spanId] = [newTraceId(), newSpanId()];
    const targetId = `${traceId}/${spanId}`;
    await storeScores('of-agents', [0.2], { traceId, spanId, target: 'agent', targetId });
    const { items } = await readQueue('scorer=of-agents');
    expect(items).toMatchObject([{ traceId, spanId, targetId }]);
    expect((await post({ traceId, spanId, scorer: 'of-agents', passes: false })).body).toMatchObject({
      agrees: true,
      scores: [{ targetId }],
    });
    expect((await readQueue('scorer=of-agents')).items).toEqual([]);
  });

  it('never shows a target of another tenant, and needs the scope read or label', async () => {
    await storeScores('scoped', [0.9]);
    expect((await readQueue('scorer=scoped', tokenOf('label', 'b'))).items).toEqual([]);
    expect((await readQueue('scorer=scoped', tokenOf('read', 'a'))).items).toHaveLength(1);
    expect((await readQueue('scorer=scoped', tokenOf('admin'))).items).toHaveLength(1);
    const unknown = await world.ask({ path: '/labels/queue?scorer=scoped', token: 'a-token-of-nobody' });
    expect(unknown.status).toBe(401);
  });

  it.each([
    ['scorer=', /scorer/],
    ['scorer=x&strategy=random', /strategy/],
    ['scorer=x&limit=21', /limit/],
    ['scorer=x&since=soon', /since/],
    ['scorer=x&reviwer=ann', /reviwer.*reviewer/],
  ])('refuses %s with what is wrong', async (query, expected) => {
    const { status, body } = await world.ask({ path: `/labels/queue?${query}`, token: LABEL_A });
    expect([status, String(body['detail'])]).toEqual([400, expect.stringMatching(expected)]);
  });
});

/** Expects the pass rates of a scorer of tenant a in SQL, as the API has them. */
async function expectInSql(scorer: string, items: unknown): Promise<void> {
  const stored = await queryRows(world.options, `SELECT * FROM pass_rates WHERE Scorer = '${scorer}'`);
  const inSql = new Map((stored as Record<string, unknown>[]).map((row) => [row['Fingerprint'], row]));
  for (const { fingerprint, estimate, low, high, labels } of items as Record<string, number>[]) {
    expect(inSql.get(fingerprint)).toEqual({
      Tenant: 'a',
      Scorer: scorer,
      Fingerprint: fingerprint,
      Estimate: expect.closeTo(estimate ?? -1, 9) as number,
      Low: expect.closeTo(low ?? -1, 9) as number,
      High: expect.closeTo(high ?? -1, 9) as number,
      Labels: String(labels),
    });
  }
  expect(inSql.size).toBeGreaterThan(0);
}

type Estimate = Parameters<typeof formatChecked>[0] & { readonly fingerprint: string };

/** Expects the command line to print the pass rates of the API, from the store and from files, in the words of the page. */
async function expectByCommand(
  scorer: string,
  items: readonly Estimate[],
  files: { readonly scores: readonly object[]; readonly labels: readonly object[] },
): Promise<void> {
  const estimate = async (...flags: readonly string[]) =>
    (await runCommand(['labels', 'estimate', ...flags], { cwd })).stdout;
  const ofStore = ['--scorer', scorer, ...storeFlags(world.options)];
  expect(jsonLines(await estimate(...ofStore, '--json'))).toEqual(items);
  const shown = await estimate(...ofStore);
  for (const item of items) {
    expect(shown).toContain(formatChecked(item));
  }
  const [scores, labels] = Object.entries(files).map(([name, lines]) => {
    writeFileSync(join(cwd, name), lines.map((line) => JSON.stringify(line)).join('\n'));
    return name;
  }) as [string, string];
  const ofFiles = jsonLines(await estimate('--scores', scores, '--labels', labels, '--json')) as {
    readonly series: string;
  }[];
  expect(items).toMatchObject(ofFiles.map(({ series, ...numbers }) => ({ ...numbers, fingerprint: series })));
}

describe('GET /labels/agreement', () => {
  it('compares the versions of a scorer with the labels of the tenant', async () => {
    const rows = await storeScores('agreed', [0.9, 0.9, 0.1, 0.1], {
      fingerprint: 'f7',
      judgeModel: 'judge-7',
    });
    for (const [index, { traceId }] of rows.entries()) {
      const label = { traceId, scorer: 'agreed', passes: index !== 1 && index < 3, reviewer: 'ann' };
      expect((await post(label)).status).toBe(201);
    }
    const path = '/labels/agreement?scorer=agreed';
    const answer = await world.ask({ path, token: tokenOf('read', 'a') });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        scorer: 'agreed',
        versions: [
          {
            fingerprint: 'f7',
            judgeModel: 'judge-7',
            scores: 4,
            n: 4,
            kappa: 0,
            confusion: { bothPass: 1, leftPasses: 1, rightPasses: 1, bothFail: 1 },
            sensitivity: 0.5,
            specificity: 0.5,
            corrected: { share: 0.5 },
            certificate: { state: 'uncertified' },
          },
        ],
        reviewers: [],
      },
    });
    const [version] = answer.body['versions'] as { sensitivityLow: number; sensitivityHigh: number }[];
    expect(version?.sensitivityLow).toBeLessThan(0.2);
    expect(version?.sensitivityHigh).toBeGreaterThan(0.8);
    const other = await world.ask({ path, token: tokenOf('read', 'b') });
    expect(other).toMatchObject({ status: 200, body: { versions: [], reviewers: [] } });
  });

  it('and GET /labels/estimate have the same pass rate, over all runs and by group', async () => {
    const rows = await storeScores('rated', [0.9, 0.9, 0.9, 0.1, 0.1], { fingerprint: 'f9', weight: 2 });
    const old = await storeScores('rated', [0.9], { fingerprint: 'f8', agent: 'other', scoredAt: 1 });
    for (const [index, { traceId }] of [...rows.slice(1), ...old].entries()) {
      const label = { traceId, scorer: 'rated', passes: index < 1, reviewer: 'ann' };
      expect((await post(label)).status).toBe(201);
    }
    const read = async (path: string) =>
      (await world.ask({ path: `/labels/${path}`, token: tokenOf('read', 'a') })).body;
    const { versions } = await read('agreement?scorer=rated');
    const { items } = await read('estimate?scorer=rated');
    const byPeople = (verdict: string, share: number, labels: number) => ({
      verdict,
      share: expect.closeTo(share, 9) as number,
      labels,
    });
    expect(items).toMatchObject([
      {
        series: 'rated',
        fingerprint: 'f9',
        scores: 5,
        effectiveN: 5,
        labels: 4,
        raw: 0.6,
        estimate: expect.closeTo(0.3, 9) as number,
        strata: [byPeople('pass', 0.6, 2), byPeople('fail', 0.4, 2)],
        certificate: { state: 'uncertified' },
      },
      { series: 'rated', fingerprint: 'f8', labels: 1, estimate: 0 },
    ]);
    const listed = versions as { estimate: object; certificate: object }[];
    expect(items).toMatchObject(listed.map(({ estimate, certificate }) => ({ ...estimate, certificate })));
    await expectInSql('rated', items);
    const series = (index: number) => (index < rows.length ? 'f9' : 'f8');
    const stored = [...rows, ...old].map(({ score, weight }, index) => ({
      series: series(index),
      id: String(index),
      score,
      weight: weight ?? 1,
    }));
    await expectByCommand('rated', items as Estimate[], {
      scores: stored,
      labels: stored.slice(1).map(({ id }, index) => ({ series: series(index + 1), id, passes: index < 1 })),
    });
    const [present] = listed.map(({ estimate }) => estimate);
    const ask = async (path: string) => (await world.ask({ path, token: tokenOf('read', 'a') })).body;
    const { items: lines } = await ask('/overview');
    expect(lines).toContainEqual(expect.objectContaining({ scorer: 'rated', estimate: present }));
    const { groups: whole } = await ask('/series?scorer=rated&since=30d');
    expect(whole).toMatchObject([{ scorer: 'rated', estimate: present }]);
    const { groups: split } = await ask('/series?scorer=rated&since=30d&by=agent,fingerprint');
    expect(split).toMatchObject([
      { fingerprint: 'f9', estimate: present },
      { agent: 'other', estimate: { labels: 1 } },
    ]);
    const { groups: chosen } = await ask('/series?scorer=rated&since=30d&agent=other');
    expect(chosen).toMatchObject([{ n: 1, estimate: { scores: 1, labels: 1, estimate: 0 } }]);
    const { groups: ungraded } = await ask('/series?scorer=ordered');
    expect(ungraded).toMatchObject([{ scorer: 'ordered', estimate: null }]);
    const { items: groups } = await read('estimate?scorer=rated&by=agent');
    expect(groups).toMatchObject([
      { fingerprint: 'f9', labels: 4 },
      { series: 'other', fingerprint: 'f8', labels: 1 },
    ]);
  });

  it('compares each row of a scorer that writes several', async () => {
    for (const scorer of ['grounding-faithfulness', 'grounding-hallucination']) {
      const [row] = await storeScores(scorer, [0.9], { fingerprint: 'f8' });
      expect((await post({ traceId: row?.traceId, scorer, passes: true })).status).toBe(201);
    }
    const path = '/labels/agreement?scorer=grounding';
    const { body } = await world.ask({ path, token: tokenOf('read', 'a') });
    const versions = body['versions'] as { scorer: string }[];
    expect(body['scorer']).toBe('grounding');
    expect(versions.toSorted((a, b) => (a.scorer < b.scorer ? -1 : 1))).toMatchObject([
      { scorer: 'grounding-faithfulness', fingerprint: 'f8', n: 1 },
      { scorer: 'grounding-hallucination', fingerprint: 'f8', n: 1 },
    ]);
  });

  it('lets a score in the worst label of its scorer fail, and a target pass by the majority of people', async () => {
    const rows = await storeScores('faithfulness', [1, 0.9, 0.6], { fingerprint: 'f9' });
    for (const [index, { traceId }] of rows.entries()) {
      for (const reviewer of ['ann', 'bob', 'cy']) {
        const passes = index === 0 || (index === 1 && reviewer !== 'cy');
        expect((await post({ traceId, scorer: 'faithfulness', passes, reviewer })).status).toBe(201);
      }
    }
    const path = '/labels/agreement?scorer=faithfulness';
    const { body } = await world.ask({ path, token: tokenOf('read', 'a') });
    const [version] = (body['versions'] as { fingerprint: string }[]).filter(
      ({ fingerprint }) => fingerprint === 'f9',
    );
    expect(version).toMatchObject({
      n: 3,
      passRate: expect.closeTo(1 / 3) as number,
      confusion: { bothPass: 1, leftPasses: 0, rightPasses: 1, bothFail: 1 },
    });
    const { body: estimates } = await world.ask({
      path: '/labels/estimate?scorer=faithfulness',
      token: tokenOf('read', 'a'),
    });
    await expectInSql('faithfulness', estimates['items']);
  });
});

describe('POST /labels', () => {
  it('stores a score of the reviewer, and shows the scores of the scorer only now', async () => {
    const [score] = await storeScores('shown', [0.9], { reason: 'all is backed' });
    const { traceId = '' } = score ?? {};
    const answer = await post({ traceId, scorer: 'shown', passes: false, note: 'it is not', label: 'wrong' });
    expect(answer).toMatchObject({
      status: 201,
      body: {
        reviewer: 'label of a',
        score: 0,
        agrees: false,
        scores: [{ scoreId: score?.scoreId, score: 0.9, reason: 'all is backed' }],
      },
    });
    const id = String(answer.body['scoreId']);
    expect((await world.store.scores.byIds([id])).get(id)).toMatchObject({
      tenant: 'a',
      scorer: 'shown',
      score: 0,
      label: 'wrong',
      reason: 'it is not',
      source: 'human',
      scoredBy: 'label of a',
    });
  });

  it('stores the best value of a scorer whose low scores are good', async () => {
    const [score] = await storeScores('low', [2], { higherIsBetter: false, scoreMin: 1, scoreMax: 5 });
    const body = { traceId: score?.traceId, scorer: 'low' };
    expect((await post({ ...body, passes: true })).body).toMatchObject({ score: 1, agrees: true });
    expect((await post({ ...body, score: 4 })).body).toMatchObject({ score: 4, agrees: false });
  });

  it.each([
    ['hallucination', 0.5, false, 'it is hallucinated'],
    ['hallucination', 0, true, 'it is grounded'],
    ['grounding-hallucination', 0.2, false, 'it is hallucinated, in a row of several'],
    ['faithfulness', 0.9, false, 'it is unfaithful'],
    ['keyword-coverage', 0.5, true, 'it is partial, the middle one of three labels'],
    ['rubric', 0, false, 'it is a fail'],
    ['unlabelled', 0.5, true, 'it is in the better half'],
  ])('says of a pass on %s %d that the scorer agrees: %s, because %s', async (scorer, score, agrees) => {
    const higherIsBetter = !scorer.endsWith('hallucination');
    const [row] = await storeScores(scorer, [score], { higherIsBetter });
    const answer = await post({ traceId: row?.traceId, scorer, passes: true });
    expect(answer.body).toMatchObject({ agrees });
  });

  it('belongs to the tenant of the target for a token of all tenants', async () => {
    const [score] = await storeScores('of-all', [0.9]);
    const { traceId = '' } = score ?? {};
    const { body } = await post({ traceId, scorer: 'of-all', passes: true }, tokenOf('label'));
    const id = String(body['scoreId']);
    expect((await world.store.scores.byIds([id])).get(id)).toMatchObject({ tenant: 'a' });
    await storeScores('of-all', [0.2], { traceId, tenant: 'b' });
    expect(await post({ traceId, scorer: 'of-all', passes: true }, tokenOf('label'))).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('several tenants have the trace') },
    });
  });

  it('shows no score of another tenant', async () => {
    const [score] = await storeScores('foreign', [0.9]);
    const body = { traceId: score?.traceId, scorer: 'foreign', score: 1 };
    expect((await post(body, tokenOf('label', 'b'))).body).toMatchObject({ agrees: null, scores: [] });
    expect((await post({ ...body, passes: true, score: undefined }, tokenOf('label', 'b'))).status).toBe(400);
  });

  it('labels a session', async () => {
    const sessionId = 'chat-1';
    const target = { target: 'session', targetId: sessionId, sessionId, traceId: '', spanId: '' } as const;
    const scoreId = computeScoreId({ ...target, tenant: 'a', scorer: 'talks', fingerprint: 'f1' });
    await storeScores('talks', [0.2], { ...target, scoreId });
    expect((await readQueue('scorer=talks')).items).toMatchObject([{ sessionId, traceId: '', run: null }]);
    expect((await post({ sessionId, scorer: 'talks', passes: false })).body).toMatchObject({ agrees: true });
    expect(await readQueue('scorer=talks')).toMatchObject({ labelled: 1, left: 0 });
  });

  it.each([
    ['neither passes nor score', {}, /score: give either passes or score/],
    ['both of them', { passes: true, score: 1 }, /score: give either passes or score/],
    ['a score that is too great', { score: 1e308 }, /score: .*-1e\+100 to 1e\+100/],
    ['no trace', { score: 1, traceId: undefined }, /traceId/],
    ['a scorer with NUL', { score: 1, scorer: 'tone\0' }, /scorer: .*no control characters/],
    ['passes without a score of the scorer', { passes: true }, /passes: .*send score instead/],
  ])('refuses %s', async (_, more, expected) => {
    const { status, body } = await post({ traceId: newTraceId(), scorer: 'refused', ...more });
    expect([status, String(body['detail'])]).toEqual([400, expect.stringMatching(expected)]);
  });
});
