import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { postScores, type PostedScore } from '../../../src/api/writes/posted-scores.ts';
import { readTrace } from '../../../src/conventions/index.ts';
import type { Decision } from '../../../src/domain/decision.ts';
import { HOUR_MS } from '../../../src/domain/durations.ts';
import type { Score } from '../../../src/domain/score.ts';
import type { Span } from '../../../src/domain/trace/span.ts';
import { StoreUnavailableError } from '../../../src/domain/errors.ts';
import { runBackfill } from '../../support/scoring/backfill-runs.ts';
import { explainTrace } from '../../../src/scoring/explain.ts';
import type { Scoring, ScoringStores } from '../../../src/scoring/scoring.ts';
import { createScoring } from '../../support/scoring/bare-scoring.ts';
import { ScoringLoop } from '../../../src/scoring/live/scoring-loop.ts';
import { prepareRule, buildRuleHistory, recordRules, type Rule } from '../../../src/scoring/select/rule.ts';
import type { PriorityReason } from '../../../src/scoring/select/sample-trace.ts';
import { joinTraceKey } from '../../../src/store/contracts/stores.ts';
import { NOTHING_PURGED } from '../../../src/store/contracts/purge.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { runCommand } from '../../support/store/clickhouse-query.ts';
import { agentRunSpans, lateToolSpan, store as ingest } from '../../support/store/stored-agent.ts';
import { CountingScorer, judged, buildRule } from '../../support/scoring/scoring-world.ts';
import {
  buildLog,
  logBlock,
  newTraceId,
  openEmptied,
  testStore,
  type TestStore,
} from '../../support/store/store-rows.ts';
import { until } from '../../support/until.ts';
import type { Store } from '../../../src/store/store.ts';

const WAIT_MS = 400;

let base: TestStore;
let store: Store;
const loops: ScoringLoop[] = [];

beforeAll(async () => {
  base = await testStore();
});
afterAll(async () => {
  await base.stop();
});
afterEach(async () => {
  await Promise.all(loops.splice(0).map((loop) => loop.stop()));
  await store.close();
});

/** A loop scores whatever it finds: each test begins with empty tables. */
async function freshStore(): Promise<Store> {
  store = await openEmptied(base.options);
  return store;
}

function scoringOn(stores: ScoringStores): Scoring {
  return createScoring({ stores, readTrace, log: silentLog }, { decisionWaitMs: WAIT_MS });
}

async function startLoop(rules: readonly Rule[], stores: ScoringStores = store) {
  const scoring = scoringOn(stores);
  const loop = new ScoringLoop(scoring, { rules, stopGraceMs: 1_000 });
  await loop.start();
  loops.push(loop);
  return { loop, scoring };
}

/** Gives spans a version of their service, and the model calls other attributes. */
function withAttributes(spans: readonly Span[], ofModels: Record<string, string>): Span[] {
  return spans.map((span) => ({
    ...span,
    resourceAttributes: new Map([...span.resourceAttributes, ['service.version', '2.0']]),
    attributes: new Map([
      ...span.attributes,
      ...(span.attributes.has('gen_ai.request.model') ? Object.entries(ofModels) : []),
    ]),
  }));
}

/** Stores the spans of a trace again as another trace that came earlier. */
async function copyWithAge(traceId: string, copyId: string, hours: number): Promise<void> {
  await runCommand(
    base.options,
    `INSERT INTO otel_traces SELECT * REPLACE ('${copyId}' AS TraceId, ArrivedAt - toIntervalHour(${hours}) AS ArrivedAt)
     FROM (SELECT * FROM otel_traces WHERE TraceId = '${traceId}')`,
  );
}

async function listDecisions(traceId: string): Promise<Decision[]> {
  const key = { tenant: '', traceId };
  return (await store.decisions.ofTraces([key])).get(joinTraceKey(key)) ?? [];
}

async function listScores(traceId: string): Promise<Score[]> {
  const key = { tenant: '', traceId };
  return (await store.scores.ofTraces([key])).get(joinTraceKey(key)) ?? [];
}

async function isDecided(traceId: string): Promise<boolean> {
  return (await listDecisions(traceId)).length > 0;
}

async function undecided(rule: Rule) {
  const history = buildRuleHistory(await store.ruleVersions.list());
  return store.decisions.undecided({
    sinceMs: 0,
    nowMs: await store.spans.nowMs(),
    pairs: history.coverage([prepareRule(rule)]),
    limit: 100,
  });
}

describe('live scoring on the engine', () => {
  test('scores the stored traces, and leaves no trace undecided', async () => {
    await freshStore();
    const scorer = new CountingScorer('a', (input) => ({ score: input.context!.length, reason: 'counted' }));
    const rule = buildRule([scorer]);
    await startLoop([rule]);
    const traceId = newTraceId();
    await ingest(store, agentRunSpans(traceId));
    await until(() => isDecided(traceId));
    expect(await listDecisions(traceId)).toMatchObject([
      { scorer: 'a', rule: 'r', status: 'scored', revision: 1, attempts: 1, weight: 1, stratum: 'uniform' },
    ]);
    expect(await listScores(traceId)).toMatchObject([
      {
        score: 1,
        reason: 'counted',
        serviceName: 'weather',
        agent: 'weather-agent',
        environment: 'production',
        sessionId: 'sess-1',
        completeness: 'complete',
      },
    ]);
    const runs = (await store.runs.ofTraces([{ tenant: '', traceId }])).get(` ${traceId}`);
    expect(runs).toMatchObject([
      { target: 'trace', agent: 'weather-agent', sessionId: 'sess-1', readFrom: 'content' },
    ]);
    expect(await undecided(rule)).toEqual([]);
    expect(await explainTrace(scoringOn(store), { tenant: '', traceId }, [rule])).toMatchObject({
      decisions: [{ status: 'scored' }],
      computed: [],
    });
  });

  test('selects by tokens, cost, version and feedback in a late log record, and counts what has no price', async () => {
    await freshStore();
    const reasons: Record<string, PriorityReason> = {
      large: { tokens: 50 },
      larger: { tokens: 5_000 },
      costly: { costlyUsd: 0.00001 },
      disliked: 'negative-feedback',
      first: { newVersion: 1 },
    };
    const { scoring } = await startLoop(
      Object.entries(reasons).map(([name, reason]) =>
        buildRule([new CountingScorer(name)], { name, sample: { rate: 0, always: [reason] } }),
      ),
    );
    const listScorers = async (traceId: string) => {
      await until(async () => (await listDecisions(traceId)).length >= 5);
      return (await listScores(traceId))
        .toSorted((one, other) => one.scorer.localeCompare(other.scorer))
        .map((score) => [score.scorer, score.stratum, score.weight]);
    };
    const [traceId, unpricedId] = [newTraceId(), newTraceId()];
    await ingest(store, withAttributes(agentRunSpans(traceId), {}));
    const before = [
      ['costly', 'priority', 1],
      ['first', 'priority', 1],
      ['large', 'priority', 1],
    ];
    expect(await listScorers(traceId)).toEqual(before);
    const models = { 'gen_ai.request.model': 'unheard-1', 'gen_ai.response.model': 'unheard-1' };
    await ingest(store, withAttributes(agentRunSpans(unpricedId), models));
    expect(await listScorers(unpricedId)).toEqual([['large', 'priority', 1]]);
    expect(scoring.unpriced.count).toBe(1);
    const feedback = buildLog({
      traceId,
      eventName: 'user.feedback',
      attributes: new Map([['score', '-1']]),
    });
    await store.sink.insert(logBlock([feedback]), 'feedback');
    await until(async () => (await listScores(traceId)).length > before.length);
    expect(await listScorers(traceId)).toEqual([before[0], ['disliked', 'priority', 1], ...before.slice(1)]);
  });

  test.each([
    ['scores a sampled-out trace', 0],
    ['gives a scored trace the probability 1', 0.999_999],
  ])('%s that gets negative feedback over the API', async (_what, rate) => {
    await freshStore();
    const before = Math.ceil(rate);
    const scorer = new CountingScorer('a');
    await startLoop([buildRule([scorer], { sample: { rate, always: ['negative-feedback'] } })]);
    const [traceId, otherId, unstored] = [newTraceId(), newTraceId(), newTraceId()];
    for (const id of [traceId, otherId]) {
      await ingest(store, agentRunSpans(id));
      await until(async () => (await listDecisions(id)).length > 0);
    }

    const feedback = (id: string, score: number): PostedScore => ({
      traceId: id,
      spanId: '',
      sessionId: '',
      scorer: 'thumbs',
      score,
      label: '',
      reason: '',
      source: 'human',
    });
    const post = (reopenMs: number, ...posted: PostedScore[]) =>
      postScores(
        { store, purged: NOTHING_PURGED, readScales: async () => new Map(), reopenMs },
        { name: 'ann', tenant: '' },
        posted,
      );
    const arrivals = await store.spans.activity([{ tenant: '', traceId: otherId }]);
    await post(0, feedback(otherId, -1));
    expect(await store.spans.activity([{ tenant: '', traceId: otherId }])).toEqual(arrivals);
    await post(HOUR_MS, feedback(traceId, -1), feedback(otherId, 1), feedback(unstored, -1));
    const ofScorer = async (id: string) => (await listScores(id)).filter((score) => score.scorer === 'a');
    await until(async () => (await ofScorer(traceId)).some((score) => score.inclusionProbability === 1));
    expect(await ofScorer(traceId)).toMatchObject([{ weight: 1 }]);
    await until(async () => (await listDecisions(traceId)).every(({ status }) => status === 'scored'));
    expect(await ofScorer(otherId)).toHaveLength(before);
    expect(scorer.inputs).toHaveLength(before + 1);
    expect(await store.spans.activity([{ tenant: '', traceId: unstored }])).toEqual(new Map());
  });

  test('takes spans of 1970 and 2262 and of two hundred days like any other', async () => {
    await freshStore();
    await startLoop([buildRule([new CountingScorer('a')])]);
    const day = 86_400_000;
    const times = [
      0,
      Date.UTC(2262, 0, 1),
      ...Array.from({ length: 200 }, (_, index) => Date.now() - index * day),
    ];
    const ids = times.map(() => newTraceId());
    await ingest(
      store,
      times.flatMap((startMs, index) => agentRunSpans(ids[index], startMs)),
    );
    const all = ids.map((traceId) => ({ tenant: '', traceId }));
    await until(async () => (await store.decisions.ofTraces(all)).size === ids.length);
    const rows = [...(await store.decisions.ofTraces(all)).values()].flat();
    expect(rows.filter((row) => row.status !== 'scored')).toEqual([]);
    expect(rows).toHaveLength(ids.length);
  });

  test('replaces a score when a tool result comes late, and asks no judge for a resent span', async () => {
    await freshStore();
    const scorer = judged('j', (input) => ({ score: input.context!.length / 2 }));
    const rule = buildRule([scorer]);
    await startLoop([rule]);
    const traceId = newTraceId();
    await ingest(store, agentRunSpans(traceId));
    await until(async () => (await listScores(traceId)).length === 1);
    const late = lateToolSpan(traceId);
    await ingest(store, [late]);
    await until(async () => (await listDecisions(traceId))[0]?.revision === 2);
    expect(await listScores(traceId)).toMatchObject([{ score: 1, revision: 2 }]);
    const [before] = await listDecisions(traceId);
    await ingest(store, [late]);
    await until(async () => (await listDecisions(traceId))[0]!.evidenceUntil > before!.evidenceUntil);
    expect(await listDecisions(traceId)).toMatchObject([{ status: 'scored', revision: 2 }]);
    expect(scorer.inputs).toHaveLength(2);
    expect(await undecided(rule)).toEqual([]);
  });

  test('decides traces that came up to four days before the start, if a rule was in force then', async () => {
    await freshStore();
    const [rule, young] = [buildRule([new CountingScorer('a')]), buildRule([new CountingScorer('b')])];
    const rules = [rule, { ...young, name: 'young' }];
    const nowMs = await store.spans.nowMs();
    await recordRules(store.ruleVersions, rules.slice(0, 1).map(prepareRule), nowMs - 100 * HOUR_MS);
    await recordRules(store.ruleVersions, rules.slice(1).map(prepareRule), nowMs - 80 * HOUR_MS);
    const [template, weekend, oldest, gone] = [newTraceId(), newTraceId(), newTraceId(), newTraceId()];
    await ingest(store, agentRunSpans(template));
    await copyWithAge(template, weekend, 49);
    await copyWithAge(template, oldest, 95);
    await copyWithAge(template, gone, 97);
    await startLoop(rules);
    const list = async (traceId: string) =>
      (await listDecisions(traceId)).map((row) => `${row.scorer} ${row.status}`).toSorted();
    await until(async () => (await list(weekend)).length === 2 && (await list(oldest)).length === 1);
    expect(await list(weekend)).toEqual(['a scored', 'b scored']);
    expect(await list(oldest)).toEqual(['a scored']);
    expect(await listScores(oldest)).toMatchObject([
      { scorer: 'a', source: 'live', completeness: 'complete' },
    ]);
    expect(await list(gone)).toEqual([]);
  });

  test('repairs a crash between score and decision without a second judge call', async () => {
    await freshStore();
    const scorer = judged('j');
    const rule = buildRule([scorer]);
    const crashing: ScoringStores = {
      ...store,
      decisions: {
        ofTraces: (keys) => store.decisions.ofTraces(keys),
        undecided: (query) => store.decisions.undecided(query),
        due: (query) => store.decisions.due(query),
        heldBack: (query) => store.decisions.heldBack(query),
        write: async () => {
          throw new StoreUnavailableError('gone before the decision');
        },
      },
    };
    const { loop: first } = await startLoop([rule], crashing);
    const traceId = newTraceId();
    await ingest(store, agentRunSpans(traceId));
    await until(async () => (await listScores(traceId)).length === 1);
    await first.stop();
    expect(await isDecided(traceId)).toBe(false);
    await startLoop([rule]);
    await until(() => isDecided(traceId));
    expect(scorer.inputs).toHaveLength(1);
    expect(await listScores(traceId)).toMatchObject([{ revision: 1 }]);
  });

  test('backfills what arrived before the rule, and continues when asked again', async () => {
    await freshStore();
    const ids = Array.from({ length: 5 }, newTraceId);
    const hourAgo = Date.now() - 3_600_000;
    await ingest(
      store,
      ids.flatMap((traceId) => agentRunSpans(traceId, hourAgo)),
    );
    const scorer = new CountingScorer('a');
    const rule = buildRule([scorer]);
    const { loop } = await startLoop([rule]);
    const scoring = scoringOn(store);
    const request = { fromMs: hourAgo - 60_000, toMs: Date.now(), rules: [rule] };
    await until(async () => (await runBackfill(scoring, request)).skipped['arriving'] === undefined);
    const again = await runBackfill(scoring, request);
    expect(again).toMatchObject({ matched: 5, scored: 0, skipped: { already_scored: 5 }, failed: {} });
    expect(scorer.inputs).toHaveLength(5);
    const keys = ids.map((traceId) => ({ tenant: '', traceId }));
    const rows = [...(await store.decisions.ofTraces(keys)).values()].flat();
    expect(rows.map((row) => row.rule)).toEqual(ids.map(() => again.rule));
    const scores = [...(await store.scores.ofTraces(keys)).values()].flat();
    expect(scores.every((score) => score.source === 'backfill' && score.stratum === 'backfill')).toBe(true);
    await loop.stop();
  });
});
