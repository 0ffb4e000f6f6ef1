import { expect, it } from 'vitest';
import { EMPTY_REPORT } from '../../../src/backfill/backfill-report.ts';
import { CostCap } from '../../../src/backfill/cost-cap.ts';
import { shareStock } from '../../../src/backfill/backfill-run.ts';
import { createJudgeStock } from '../../../src/scoring/live/queue.ts';
import { createBudget } from '../../../src/scoring/budget/budget.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import {
  buildBackfillJob,
  countBackfill,
  createBackfillKind,
  runBackfill,
} from '../../support/scoring/backfill-runs.ts';
import {
  agentSpan,
  buildLiveMode,
  buildRule,
  CountingScorer,
  createTestScoring,
  judged,
  newTraceId,
} from '../../support/scoring/scoring-world.ts';

const HOUR_MS = 3_600_000;

/** Stores traces of these services that began an hour ago. */
function history(store: MemoryStore, ...services: readonly string[]): string[] {
  const ids = services.map((service, index) => {
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'x', service, startMs: store.clockMs - HOUR_MS + index })]);
    return traceId;
  });
  store.clockMs += 2 * HOUR_MS;
  return ids;
}

const wholeDay = (store: MemoryStore) => ({ fromMs: store.clockMs - 24 * HOUR_MS, toMs: store.clockMs });

it('conditions choose the traces: others are no part of the backfill, and get no decision', async () => {
  const store = new MemoryStore();
  history(store, 'shop', 'bank', 'shop');
  const where = { not: { service: ['bank'] } };
  const asked = { ...wholeDay(store), where, rules: [buildRule([new CountingScorer('a')])] };
  expect(await countBackfill(createTestScoring(store), asked)).toMatchObject({ matched: 2, remaining: 2 });
  expect(await runBackfill(createTestScoring(store), asked)).toMatchObject({ matched: 2, scored: 2 });
  expect(store.decisions()).toHaveLength(2);
});

it('scores of another fingerprint stand beside the former ones, with their own source', async () => {
  const store = new MemoryStore();
  const [traceId = ''] = history(store, 'shop');
  const former = judged('a', () => ({ score: 0.2 }));
  await runBackfill(createTestScoring(store), { ...wholeDay(store), rules: [buildRule([former])] });
  const present = judged('a', () => ({ score: 0.7 }));
  Object.assign(present, { version: '2' });
  const asked = { ...wholeDay(store), rules: [buildRule([present])] };
  expect(await runBackfill(createTestScoring(store), asked)).toMatchObject({ scored: 1, skipped: {} });
  const scores = store.scores().filter((score) => score.traceId === traceId);
  expect(scores.map(({ score, source }) => `${source} ${score}`).toSorted()).toEqual([
    'backfill 0.2',
    'backfill 0.7',
  ]);
});

it('a rescore replaces scores once, each with its source and sampling, also after an interruption', async () => {
  const store = new MemoryStore();
  const scorer = judged('a', () => ({ score: 0.2 }));
  const rule = buildRule([scorer], { sample: { rate: 0.999, always: [] } });
  const mode = await buildLiveMode(store, rule);
  const [live = ''] = history(store, 'shop', 'shop');
  await scoreTraces(createTestScoring(store), [{ tenant: '', traceId: live }], mode);
  scorer.scores = () => ({ score: 0.9 });
  store.clockMs += 1;
  const all = [buildRule([scorer])];
  const asked = { ...wholeDay(store), rules: all, options: { rescore: true } };
  expect(await countBackfill(createTestScoring(store), asked)).toMatchObject({ matched: 2, remaining: 2 });
  scorer.inputs.length = 0;
  const { saved, ...report } = await runBackfill(createTestScoring(store), asked);
  expect(report).toMatchObject({ scored: 2, skipped: {}, failed: {} });
  expect(scorer.inputs).toHaveLength(2);
  const scores = new Map(store.scores().map((score) => [score.traceId, score]));
  expect(scores.size).toBe(2);
  expect(scores.get(live)).toMatchObject({
    score: 0.9,
    source: 'live',
    stratum: 'uniform',
    weight: 1 / 0.999,
    revision: 2,
  });
  // The progress of its begin: as if the process was killed before it stored more.
  const checkpoint = {
    ...(saved?.checkpoint as object),
    phase: 'traces',
    afterTrace: null,
    counts: EMPTY_REPORT,
  };
  store.clockMs += 60_000;
  const again = { ...asked, from: { checkpoint, report: {}, costUsd: 0 } };
  expect(await runBackfill(createTestScoring(store), again)).toMatchObject({
    matched: 2,
    scored: 2,
    skipped: {},
  });
  expect(scorer.inputs).toHaveLength(2);
});

it('a process with another configuration leaves the job, and says why', async () => {
  const store = new MemoryStore();
  const rule = buildRule([judged('a')]);
  const job = buildBackfillJob({ fromMs: 0, toMs: 1, rules: [rule] });
  const refuse = (rules: readonly ReturnType<typeof buildRule>[]) =>
    createBackfillKind(createTestScoring(store), { rules }).refuse?.(job);
  expect(await refuse([rule])).toBeUndefined();
  const other = judged('a');
  Object.assign(other, { version: '2' });
  expect(await refuse([buildRule([other])])).toMatch(/scorer a \(rule r\) is another one/);
  expect(await refuse([buildRule([judged('b')], { name: 'other' })])).toMatch(/no scorer a in the rule r/);
});

it('a part of the places of judges stays free for live scoring', async () => {
  const stock = createJudgeStock({ concurrency: 10, newestShare: 0.5, monotonicMs: () => 0 });
  const shared = shareStock(stock, 0.3);
  let [running, most] = [0, 0];
  const call = async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 1));
    running -= 1;
  };
  await Promise.all(Array.from({ length: 20 }, () => shared.run('oldest', call)));
  expect(most).toBe(3);
});

it('a cap is never exceeded by what calls cost, and uses what they leave', async () => {
  const store = new MemoryStore();
  const cap = new CostCap(1, 0.2, async () => undefined);
  const budget = cap.limit(createBudget(store.stores.judgeCalls));
  const ask = {
    rule: 'r',
    tenant: '',
    scoreId: 's',
    model: 'test/judge',
    usd: 0.2,
    nowMs: () => store.clockMs,
  };
  let spent = 0.2;
  const pay = async () => {
    const call = await budget.reserve(ask);
    await new Promise((resolve) => setTimeout(resolve, 1));
    spent += 0.1;
    call.settle(0.1);
  };
  const results = await Promise.allSettled(Array.from({ length: 30 }, pay));
  const refused = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as object] : [],
  );
  expect(spent).toBeLessThanOrEqual(1);
  expect(spent).toBeGreaterThan(0.7);
  expect(refused).toHaveLength(30 - Math.round((spent - 0.2) / 0.1));
  expect(refused[0]).toMatchObject({ code: 'budget_exhausted' });
  expect(cap.isSpent).toBe(true);
});
