import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { refreshAggregates } from '../../../../src/aggregates/refresh-aggregates.ts';
import { readTrace } from '../../../../src/conventions/index.ts';
import { createEvaluator } from '../../../../src/monitors/evaluator.ts';
import { scoreTraces } from '../../../../src/scoring/score-traces.ts';
import { createScoring, type Scoring } from '../../../../src/scoring/scoring.ts';
import { liveMode } from '../../../../src/scoring/scoring-mode.ts';
import { prepareRule } from '../../../../src/scoring/select/rule.ts';
import { recordRules } from '../../../../src/scoring/select/rule-history.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { DAY_MS, HOUR_MS, monitorGroup, monitorRule } from '../../../support/monitors/hourly-monitors.ts';
import { runBackfill } from '../../../support/scoring/backfill-runs.ts';
import { buildRule, CountingScorer } from '../../../support/scoring/scoring-world.ts';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import { agentRunSpans, store as ingest } from '../../../support/store/stored-agent.ts';
import { newTraceId, openEmptied, testStore, type TestStore } from '../../../support/store/store-rows.ts';

let base: TestStore;
let store: TestStore['store'];
let scoring: Scoring;
/** The first one was scored live. */
let traceIds: readonly string[];

/** Scorer in a version of its own, with one score for all. */
function scorerOf(score: number, version = '1'): CountingScorer {
  return Object.assign(new CountingScorer('quality', () => ({ score })), { version });
}

function backfill(scorer: CountingScorer, rescore = false) {
  const range = { fromMs: Date.now() - 2 * DAY_MS, toMs: Date.now() };
  return runBackfill(scoring, { ...range, rules: [buildRule([scorer])], options: { rescore } });
}

/** Reads the stored scores in the order of the traces. */
function readRows(columns: string): Promise<unknown[]> {
  const ids = traceIds.map((traceId) => `'${traceId}'`).join(', ');
  return queryRows(
    base.options,
    `SELECT ${columns} FROM scores FINAL ORDER BY indexOf([${ids}], TraceId), ScorerVersion`,
  );
}

beforeAll(async () => {
  base = await testStore();
});
afterAll(() => base.stop());
beforeEach(async () => {
  store = await openEmptied(base.options);
  const startMs = Date.now() - DAY_MS;
  traceIds = Array.from({ length: 3 }, newTraceId);
  await Promise.all(traceIds.map((traceId, n) => ingest(store, agentRunSpans(traceId, startMs + n))));
  // The traces are ready.
  await new Promise((resolve) => setTimeout(resolve, 5));
  scoring = createScoring({ stores: store, readTrace, log: silentLog }, { decisionWaitMs: 1 });
  const rule = prepareRule(buildRule([scorerOf(0.5)], { name: 'live', sample: { rate: 0.999, always: [] } }));
  const history = await recordRules(store.ruleVersions, [rule], startMs);
  await scoreTraces(scoring, [{ tenant: '', traceId: traceIds[0] ?? '' }], liveMode([rule], history));
});
afterEach(() => store.close());

const LIVE = { Source: 'live', Stratum: 'uniform', Weight: 1 / 0.999 };
const BACKFILLED = { Source: 'backfill', Stratum: 'backfill', Weight: 1 };
const COLUMNS = 'Score, Source, Stratum, Weight';

test('scores of a backfill have their own source, and the same fingerprint is skipped', async () => {
  const scorer = scorerOf(0.25);
  expect(await backfill(scorer)).toMatchObject({ scored: 2, skipped: { already_scored: 1 } });
  expect(await readRows(COLUMNS)).toEqual([
    { ...LIVE, Score: 0.5 },
    { ...BACKFILLED, Score: 0.25 },
    { ...BACKFILLED, Score: 0.25 },
  ]);
  expect(await backfill(scorer)).toMatchObject({ scored: 0, skipped: { already_scored: 3 } });
  expect(scorer.inputs).toHaveLength(2);
});

test('a rescore replaces each score, and the new one has its source and sampling', async () => {
  await backfill(scorerOf(0.25));
  expect(await backfill(scorerOf(0.75), true)).toMatchObject({ scored: 3, skipped: {}, failed: {} });
  expect(await readRows(COLUMNS)).toEqual([
    { ...LIVE, Score: 0.75 },
    { ...BACKFILLED, Score: 0.75 },
    { ...BACKFILLED, Score: 0.75 },
  ]);
});

test('another fingerprint adds a series beside the former one', async () => {
  await backfill(scorerOf(0.25));
  expect(await backfill(scorerOf(0.75, '2'))).toMatchObject({ scored: 3, skipped: {} });
  expect(await readRows('ScorerVersion, Score, Source')).toEqual([
    { ScorerVersion: '1', Score: 0.5, Source: 'live' },
    { ScorerVersion: '2', Score: 0.75, Source: 'backfill' },
    { ScorerVersion: '1', Score: 0.25, Source: 'backfill' },
    { ScorerVersion: '2', Score: 0.75, Source: 'backfill' },
    { ScorerVersion: '1', Score: 0.25, Source: 'backfill' },
    { ScorerVersion: '2', Score: 0.75, Source: 'backfill' },
  ]);
});

test('no mean joins a backfill with live scores, and monitors see live scores only', async () => {
  await backfill(scorerOf(0.25));
  await refreshAggregates(store.aggregates);
  const means = await queryRows(
    base.options,
    `SELECT Source, toUInt32(sum(Scores)) AS scores, round(sum(Total) / sum(Weight), 6) AS mean
     FROM score_hours FINAL GROUP BY Source ORDER BY Source`,
  );
  expect(means).toEqual([
    { Source: 'backfill', scores: 2, mean: 0.25 },
    { Source: 'live', scores: 1, mean: 0.5 },
  ]);
  const nowMs = Date.now() + 2 * HOUR_MS;
  const monitors = { ...store.monitors, nowMs: () => Promise.resolve(nowMs) };
  const group = monitorGroup(monitorRule({ kind: 'floor', minimum: 0.9 }));
  await createEvaluator([group], {
    store: monitors,
    turn: () => Promise.resolve(),
    warn: () => undefined,
  }).advance();
  const buckets = [];
  const range = { intervalMs: HOUR_MS, fromMs: nowMs - DAY_MS, toMs: nowMs };
  for await (const rows of store.monitors.buckets(range)) {
    buckets.push(...rows);
  }
  expect(buckets).toMatchObject([
    { bucket: { scores: { values: [0.5], counts: [1] } }, aside: { notLive: 2 } },
  ]);
});
