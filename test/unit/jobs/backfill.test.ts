import type { JobRange } from '../../../src/jobs/selection.ts';
import { buildDecision } from '../../support/store/store-rows.ts';
import { buildOutcome } from '../../../src/scoring/trace-task.ts';
import { nameTarget, type JobTargets } from '../../../src/jobs/targets.ts';
import { scorePage } from '../../../src/jobs/score-page.ts';
import { createBudget } from '../../../src/scoring/budget/budget.ts';
import { createJudgeSlots } from '../../../src/scoring/live/queue.ts';
import { shareSlots } from '../../../src/jobs/backfill.ts';
import { CostCap } from '../../../src/jobs/cost-cap.ts';
import { NO_COUNTS } from '../../../src/jobs/stored-job.ts';
import { describe, expect, it, vi } from 'vitest';
import { JudgeError } from '../../../src/judge/judge-error.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { StoreUnavailableError } from '../../../src/domain/errors.ts';
import type { JobProgress } from '../../../src/store/contracts/jobs.ts';
import type { TraceKey } from '../../../src/store/contracts/stores.ts';
import { buildPieces, createJoiningScoring } from '../../support/builders/pieces.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import {
  buildBackfillJob,
  countBackfill,
  createBackfillKind,
  runBackfill,
  Stopped,
  type AskedBackfill,
} from '../../support/scoring/backfill-runs.ts';
import {
  agentSpan,
  CountingScorer,
  judged,
  buildLiveMode,
  newTraceId,
  createTestScoring,
  buildRule,
} from '../../support/scoring/scoring-world.ts';

const HOUR_MS = 3_600_000;

function history(store: MemoryStore, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'x', startMs: store.clockMs - HOUR_MS + index })]);
    return traceId;
  });
}

const wholeDay = (store: MemoryStore) => ({ fromMs: store.clockMs - 24 * HOUR_MS, toMs: store.clockMs });

/** Opens a store with traces that began three hours ago. */
function openPast(count: number): MemoryStore {
  const store = new MemoryStore();
  history(store, count);
  store.clockMs += 2 * HOUR_MS;
  return store;
}

/** Runs a backfill of the last day, unless it names another range. */
const run = (store: MemoryStore, asked: Omit<AskedBackfill, 'fromMs' | 'toMs'> & Partial<JobRange>) =>
  runBackfill(createTestScoring(store), { ...wholeDay(store), ...asked });
const look = (store: MemoryStore, asked: AskedBackfill) => countBackfill(createTestScoring(store), asked);

describe('a backfill', () => {
  it('scores stored traces as a stratum of its own', async () => {
    const store = openPast(5);
    const seen: number[] = [];
    const summary = await run(store, {
      rules: [buildRule([new CountingScorer('a')])],
      onSave: (progress) => seen.push(progress.remaining),
    });
    expect(summary).toMatchObject({ matched: 5, scored: 5, skipped: {}, failed: {}, remaining: 0 });
    expect(seen).toEqual([5, 0, 0, 0]);
    expect(store.scores()).toHaveLength(5);
    expect(store.scores()[0]).toMatchObject({ source: 'backfill', stratum: 'backfill', weight: 1 });
    expect(store.decisions()[0]?.rule).toBe(summary.rule);
  });

  it('asks no judge for a trace that live scoring has scored', async () => {
    const store = new MemoryStore();
    const scorer = judged('j');
    const rule = buildRule([scorer]);
    const mode = await buildLiveMode(store, rule);
    const [traceId = ''] = history(store, 1);
    store.clockMs += 2 * HOUR_MS;
    await scoreTraces(createTestScoring(store), [{ tenant: '', traceId }], mode);
    const summary = await run(store, { rules: [rule] });
    expect(summary).toMatchObject({
      matched: 1,
      scored: 0,
      skipped: { already_scored: 1 },
    });
    expect(scorer.inputs).toHaveLength(1);
    expect(store.scores()).toMatchObject([{ source: 'live' }]);
  });

  it('continues after a stop at any place, with exact counts and no score twice', async () => {
    for (const stopAt of [1, 2, 3, 4]) {
      const store = openPast(120);
      const scorer = new CountingScorer('a');
      const request = { ...wholeDay(store), rules: [buildRule([scorer])], pageSize: 50 };
      let saves = 0;
      const onSave = () => {
        saves += 1;
        if (saves === stopAt) {
          throw new Stopped();
        }
      };
      const stopped: unknown = await run(store, { ...request, onSave }).catch((error: unknown) => error);
      expect(stopped).toMatchObject({ code: 'cancelled' });
      store.clockMs += 60_000;
      const { saved: from } = stopped as { saved: JobProgress };
      const second = await run(store, { ...request, from });
      expect(second).toMatchObject({ matched: 120, scored: 120, skipped: {}, remaining: 0 });
      expect(scorer.inputs).toHaveLength(120);
    }
  });

  it('scores and counts a run once whose traces are on two pages', async () => {
    const store = new MemoryStore();
    const { asks, tool, answers } = buildPieces('on two pages', { atMs: 10_000 });
    const firstMs = Number(asks.startUnixNano / 1_000_000n) - 5_000;
    store.ingest([asks]);
    for (let index = 0; index < 49; index++) {
      const { traceId } = buildPieces(`filler ${index}`).asks;
      store.ingest([agentSpan(traceId, 'a', { says: 'x', startMs: firstMs + index })]);
    }
    store.ingest([tool]);
    store.ingest([answers]);
    store.clockMs += 2 * HOUR_MS;
    const scorer = judged('j');

    const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
    const summary = await runBackfill(scoring, {
      ...wholeDay(store),
      rules: [buildRule([scorer])],
      pageSize: 10,
    });

    expect(scorer.inputs).toHaveLength(1);
    expect(summary).toMatchObject({ matched: 52, failed: {}, skipped: { part_of_run: 2 } });
    const skipped = Object.values(summary.skipped).reduce((sum, count) => sum + count, 0);
    expect(summary.scored + skipped).toBe(store.decisions().length);
  });

  it('looks up the activity of its traces once, and reads no decisions again', async () => {
    const store = openPast(120);
    const { spans, decisions } = store.stores;
    const activity = vi.fn((keys: readonly TraceKey[]) => spans.activity(keys));
    const ofTraces = vi.fn((keys: readonly TraceKey[]) => decisions.ofTraces(keys));
    const stores = {
      ...store.stores,
      spans: { ...spans, activity },
      decisions: { ...decisions, ofTraces },
    };

    const summary = await runBackfill(createTestScoring(store, {}, { stores }), {
      ...wholeDay(store),
      rules: [buildRule([new CountingScorer('a')])],
    });

    expect(summary).toMatchObject({ matched: 120, scored: 120 });
    expect(activity).not.toHaveBeenCalled();
    // One for the selection of the page, and one when its traces are scored.
    expect(ofTraces).toHaveBeenCalledTimes(2);
  });

  it('scores two pages at a time, and reads one more meanwhile', async () => {
    const store = openPast(50);
    const { decisions } = store.stores;
    const pages = new Set<string | undefined>();
    const ofTraces = (keys: readonly TraceKey[]) => {
      pages.add(keys[0]?.traceId);
      return decisions.ofTraces(keys);
    };
    const gate = Promise.withResolvers<void>();
    const scorer = new CountingScorer('a', () => gate.promise.then(() => ({ score: 1 })));
    const stores = { ...store.stores, decisions: { ...decisions, ofTraces } };
    const scoring = createTestScoring(store, {}, { stores });

    const running = runBackfill(scoring, {
      ...wholeDay(store),
      rules: [buildRule([scorer])],
      pageSize: 10,
    });
    await vi.waitFor(() => expect(scorer.inputs).toHaveLength(20));
    await vi.waitFor(() => expect(pages.size).toBe(3));
    gate.resolve();

    expect(await running).toMatchObject({ matched: 50, scored: 50 });
    expect(pages.size).toBe(5);
  });

  it('does not wait for the rows of live scoring before it writes', async () => {
    const store = openPast(20);
    const never = 3_600_000;
    const commitPace = { everyMs: never, busyEveryMs: never, manyItems: 1_000, gatherMs: 0 };

    const summary = await runBackfill(createTestScoring(store, { commitPace }), {
      ...wholeDay(store),
      rules: [buildRule([new CountingScorer('a')])],
      pageSize: 5,
    });

    expect(summary).toMatchObject({ matched: 20, scored: 20 });
  });

  it('ends with the error of the store, and leaves no page behind', async () => {
    const store = openPast(120);
    const { spans } = store.stores;
    let reads = 0;
    const failing = {
      ...store.stores,
      spans: {
        ...spans,
        read: async (keys: Parameters<typeof spans.read>[0]) => {
          reads += 1;
          if (reads === 2) {
            throw new StoreUnavailableError('away');
          }
          return spans.read(keys);
        },
      },
    };

    const running = runBackfill(createTestScoring(store, {}, { stores: failing }), {
      ...wholeDay(store),
      rules: [buildRule([new CountingScorer('a')])],
      pageSize: 50,
    });

    await expect(running).rejects.toThrow('away');
    const decided = store.decisions().length;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(store.decisions()).toHaveLength(decided);
  });

  it('waits for a judge that is away, and then goes on without a second call', async () => {
    const store = openPast(3);
    let answers = 0;
    const scorer = judged('j', () => {
      answers -= 1;
      if (answers < 0) {
        throw new JudgeError('judge_unavailable', 'gone');
      }
      return { score: 1 };
    });
    const request = { ...wholeDay(store), rules: [buildRule([scorer])] };
    const waiting: unknown = await run(store, request).catch((error: unknown) => error);
    expect(waiting).toMatchObject({ code: 'judge_unavailable', retryable: true });
    answers = 100;
    const { saved: from } = waiting as { saved: JobProgress };
    expect(await run(store, { ...request, from })).toMatchObject({
      scored: 3,
      failed: {},
    });
    expect(100 - answers).toBe(3);
  });

  it('counts a trace as failed whose judge does not answer, and a later backfill tries it again', async () => {
    const store = openPast(4);
    let isOdd = true;
    const [, odd] = store.spanRows.map(({ span }) => span.traceId);
    const scorer = judged('j', ({ targetTraceId }) => {
      if (isOdd && targetTraceId === odd) {
        throw new JudgeError('judge_unavailable', 'no answer to this');
      }
      return { score: 1 };
    });
    const request = { ...wholeDay(store), rules: [buildRule([scorer])] };
    expect(await run(store, request)).toMatchObject({
      scored: 3,
      failed: { judge_unavailable: 1 },
      remaining: 0,
    });
    isOdd = false;
    store.clockMs += 60_000;
    expect(await run(store, request)).toMatchObject({
      scored: 1,
      skipped: { already_scored: 3 },
      failed: {},
    });
  });

  it('takes traces of the last minutes that are ready, as its dry run says', async () => {
    const store = new MemoryStore();
    history(store, 21);
    store.clockMs += 60_000;
    const scorer = new CountingScorer('a');
    const request = { ...wholeDay(store), rules: [buildRule([scorer])] };
    const dry = await look(store, request);
    expect(dry).toMatchObject({ matched: 21, remaining: 21, skipped: {} });
    expect(store.decisions()).toEqual([]);
    const real = await run(store, request);
    expect(real).toMatchObject({ matched: 21, scored: 21, skipped: {} });
    store.clockMs += 1;
    const again = { matched: 21, scored: 0, skipped: { already_scored: 21 }, remaining: 0 };
    expect(await look(store, request)).toMatchObject(again);
    expect(await run(store, request)).toMatchObject(again);
  });

  it('leaves traces that still arrive to live scoring: not quiet yet, or a missing parent', async () => {
    const store = new MemoryStore();
    history(store, 2);
    const traceId = newTraceId();
    store.ingest([
      agentSpan(traceId, 'root', { says: 'x', startMs: store.clockMs }),
      agentSpan(traceId, 'leaf', { says: 'y', parent: 'missing', startMs: store.clockMs }),
    ]);
    store.clockMs += 60_000;
    history(store, 1);
    store.clockMs += 1_000;
    const request = { ...wholeDay(store), rules: [buildRule([new CountingScorer('a')])] };
    const left = { matched: 4, skipped: { arriving: 2 } };
    expect(await look(store, request)).toMatchObject(left);
    expect(await run(store, request)).toMatchObject({ ...left, scored: 2 });
    store.clockMs += 15 * 60_000;
    expect(await run(store, request)).toMatchObject({ matched: 4, scored: 2 });
  });

  it('leaves traces to live scoring that a live rule has yet to decide with one of its scorers', async () => {
    const store = new MemoryStore();
    const [shared, other] = [judged('shared'), new CountingScorer('other')];
    const liveRule = buildRule([shared]);
    await buildLiveMode(store, liveRule);
    history(store, 3);
    store.clockMs += 2 * HOUR_MS;
    const request = { ...wholeDay(store), liveRules: [liveRule] };
    const owed = { ...request, rules: [buildRule([shared, other])] };
    const left = { matched: 3, skipped: { left_to_live: 6 }, remaining: 0 };
    expect(await look(store, owed)).toMatchObject(left);
    expect(await run(store, owed)).toMatchObject({ ...left, scored: 0 });
    const free = { ...request, rules: [buildRule([other])] };
    expect(await run(store, free)).toMatchObject({ matched: 3, scored: 3 });
    expect(shared.inputs).toEqual([]);
  });

  it('scores traces that live scoring has decided, and leaves those that it has deferred', async () => {
    const store = new MemoryStore();
    let isDead = true;
    const scorer = judged('j', () => {
      if (isDead) {
        throw new JudgeError('judge_unavailable', 'gone');
      }
      return { score: 1 };
    });
    const rule = buildRule([scorer]);
    const mode = await buildLiveMode(store, rule);
    const [putOff = '', decided = ''] = history(store, 2);
    store.clockMs += 2 * HOUR_MS;
    await scoreTraces(createTestScoring(store), [{ tenant: '', traceId: putOff }], mode);
    isDead = false;
    await scoreTraces(createTestScoring(store), [{ tenant: '', traceId: decided }], mode);
    const request = { ...wholeDay(store), rules: [rule], liveRules: [rule] };
    expect(await run(store, request)).toMatchObject({
      matched: 2,
      scored: 0,
      skipped: { already_scored: 1, left_to_live: 1 },
    });
  });

  it('leaves traces to live scoring as far as it looks back, and scores those before', async () => {
    const store = new MemoryStore();
    const rule = buildRule([new CountingScorer('a')]);
    await buildLiveMode(store, rule);
    history(store, 2);
    store.clockMs += 95 * HOUR_MS;
    const request = { fromMs: 0, rules: [rule], liveRules: [rule] };
    const early = await run(store, { ...request, toMs: store.clockMs });
    expect(early).toMatchObject({ matched: 2, scored: 0, skipped: { left_to_live: 2 } });
    store.clockMs += 2 * HOUR_MS;
    const late = await run(store, { ...request, toMs: store.clockMs });
    expect(late).toMatchObject({ matched: 2, scored: 2 });
  });

  it('weighs its scores by its own rate', async () => {
    const store = openPast(60);
    const rule = buildRule([new CountingScorer('a')], { sample: { rate: 0.5, always: [] } });
    const summary = await run(store, { rules: [rule] });
    const { scored, skipped } = summary;
    expect(scored).toBeGreaterThan(5);
    expect(skipped).toEqual({ sampled_out: 60 - scored });
    expect(store.scores().every((score) => score.weight === 2 && score.stratum === 'backfill')).toBe(true);
  });

  it('does not change live scores that its own rule does not select', async () => {
    const store = new MemoryStore();
    const rule = buildRule([new CountingScorer('a')]);
    const mode = await buildLiveMode(store, rule);
    const [traceId = ''] = history(store, 1);
    store.clockMs += 2 * HOUR_MS;
    await scoreTraces(createTestScoring(store), [{ tenant: '', traceId }], mode);
    const elsewhere = { ...rule, where: { service: ['shop'] } };
    await run(store, { rules: [elsewhere] });
    expect(store.scores()).toHaveLength(1);
  });
});

/** Stores traces of these services that began an hour ago. */
function storeOf(store: MemoryStore, ...services: readonly string[]): string[] {
  const ids = services.map((service, index) => {
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'x', service, startMs: store.clockMs - HOUR_MS + index })]);
    return traceId;
  });
  store.clockMs += 2 * HOUR_MS;
  return ids;
}

it('conditions choose the traces: others are no part of the backfill, and get no decision', async () => {
  const store = new MemoryStore();
  storeOf(store, 'shop', 'bank', 'shop');
  const where = { not: { service: ['bank'] } };
  const asked = { ...wholeDay(store), where, rules: [buildRule([new CountingScorer('a')])] };
  expect(await look(store, asked)).toMatchObject({ matched: 2, remaining: 2 });
  expect(await run(store, asked)).toMatchObject({ matched: 2, scored: 2 });
  expect(store.decisions()).toHaveLength(2);
});

it('a rescore replaces scores once, each with its source and sampling, also after an interruption', async () => {
  const store = new MemoryStore();
  const scorer = judged('a', () => ({ score: 0.2 }));
  const rule = buildRule([scorer], { sample: { rate: 0.999, always: [] } });
  const mode = await buildLiveMode(store, rule);
  const [live = ''] = storeOf(store, 'shop', 'shop');
  await scoreTraces(createTestScoring(store), [{ tenant: '', traceId: live }], mode);
  scorer.scores = () => ({ score: 0.9 });
  store.clockMs += 1;
  const all = [buildRule([scorer])];
  const asked = { ...wholeDay(store), rules: all, options: { rescore: true } };
  expect(await look(store, asked)).toMatchObject({ matched: 2, remaining: 2 });
  scorer.inputs.length = 0;
  const { saved, ...report } = await run(store, asked);
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
    after: null,
    counts: NO_COUNTS,
  };
  store.clockMs += 60_000;
  const again = { ...asked, from: { checkpoint, report: {}, costUsd: 0 } };
  expect(await run(store, again)).toMatchObject({
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
  const stock = createJudgeSlots({ concurrency: 10, newestShare: 0.5, monotonicMs: () => 0 });
  const shared = shareSlots(stock, 0.3);
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

const KEY = { tenant: '', traceId: 'a'.repeat(32) };

/** Scores a page of one trace whose scorer waits for a reason. Returns the number of its tries. */
async function countTries(reason: string): Promise<number> {
  let tries = 0;
  const targets: JobTargets = {
    rules: [],
    async score(keys, onOutcome) {
      tries += 1;
      expect(keys).toEqual([KEY]);
      const decisions = [buildDecision({ ...KEY, status: 'deferred', reason })];
      onOutcome(nameTarget(KEY), buildOutcome(KEY, { decisions }));
    },
    readRows: async () => [],
    readScores: async () => [],
  };
  const page = {
    taken: [KEY],
    fresh: new Set([KEY]),
    decided: 0,
    decisions: [],
    arriving: 0,
    owed: 0,
    listed: 1,
    times: { first: 0n, last: 0n },
  };
  await scorePage(targets, page, {
    begunMs: 0,
    isSpent: () => false,
    check: async () => undefined,
    signal: new AbortController().signal,
    retryWaitsMs: [1, 1],
    isOurs: () => true,
    onPairs: () => undefined,
  });
  return tries;
}

it.each([
  'judge_unavailable: away',
  'scorer_unavailable: its process has ended',
  'budget_exhausted: the budget of the day is spent',
])('a scorer that waits (%s) is tried three times', async (reason) => {
  expect(await countTries(reason)).toBe(3);
});
