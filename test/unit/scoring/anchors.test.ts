import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { AnchorRow } from '../../../src/domain/anchor.ts';
import type { DeployMarker } from '../../../src/domain/deploy-marker.ts';
import { StoreUnavailableError } from '../../../src/domain/errors.ts';
import type { JudgeCall } from '../../../src/judge/judge-execution.ts';
import { createReplyCache, currentJudgeScope } from '../../../src/judge/judge-scope.ts';
import type { JudgeDrift } from '../../../src/monitors/monitor-store.ts';
import { AnchorKeeper, type AnchorSettings } from '../../../src/scoring/anchors/keep-anchors.ts';
import { prepareRule, type Rule } from '../../../src/scoring/select/rule.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import type { AlertEvent } from '../../../src/monitors/alert-event.ts';
import { anAlert } from '../../support/builders/an-alert.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import {
  agentSpan,
  buildLiveMode,
  buildRule,
  createTestScoring,
  CountingScorer,
  judged,
  newTraceId,
} from '../../support/scoring/scoring-world.ts';

const MINUTE = 60_000;
const SETTINGS: AnchorSettings = {
  size: 3,
  share: 0.5,
  perHour: { min: 1, max: 6 },
  maxAgeMs: 30 * 24 * 60 * MINUTE,
};

/** Scorer that pays its judge, and tells whether it got the cache of replies. */
function paidScorer() {
  const { promise: isGoingOn, resolve: goOn } = Promise.withResolvers<void>();
  /** `hangAt`: question to the anchors that gets no answer until the test goes on; 0: none. */
  const world = { score: 1, served: 'judge-2', hadCache: [] as boolean[], hangAt: 0, goOn };
  const scorer = judged('paid', async () => {
    const { reserve, onCall, cache } = currentJudgeScope();
    world.hadCache.push(cache !== undefined);
    if (cache === undefined && world.hadCache.filter((had) => !had).length === world.hangAt) {
      await isGoingOn;
    }
    const tokens = { inputTokens: 1, outputTokens: 1 };
    const plan = { model: 'test/judge', step: 'ask', promptBytes: 1, tokens, estimatedUsd: 0.1 };
    (await reserve?.(plan))?.settle(0.1);
    onCall?.({ ...plan, servedModel: world.served, status: 'success', cost: 0.1 } as unknown as JudgeCall);
    return { score: world.score };
  });
  return { scorer, world };
}

function refuseIf<T>(isRefused: boolean, value: T): T {
  if (isRefused) {
    throw new StoreUnavailableError('the store is away');
  }
  return value;
}

/** Live scores of some traces, and the keeper of their anchors. */
async function openWorld(rule: Rule, traces = 5, settings: Partial<AnchorSettings> = {}) {
  const store = new MemoryStore();
  const mode = await buildLiveMode(store, rule);
  const keys = Array.from({ length: traces }, () => ({ tenant: '', traceId: newTraceId() }));
  keys.forEach(({ traceId }) => store.ingest([agentSpan(traceId, 'a', { says: 'x' })]));
  store.clockMs += MINUTE;
  const cache = createReplyCache({ maxEntries: 10, maxChars: 100 });
  const scoring = createTestScoring(store, {}, { judgeScope: { cache } });
  await scoreTraces(scoring, keys, mode);
  const rows: AnchorRow[] = [];
  const drifts: JudgeDrift[] = [];
  const deciding: AlertEvent[] = [];
  const markers: DeployMarker[] = [];
  /** What the store refuses: candidates of a scorer, and markers. */
  const faults = { scorer: '', marker: false };
  let runs = 2;
  const keeper = () =>
    new AnchorKeeper({
      nowMs: async () => store.clockMs,
      anchors: {
        since: async () => [...rows],
        write: async (written) => void rows.push(...written),
        judgedRuns: async () => new Map([['paid', runs]]),
        candidates: async ({ fingerprint, sinceMs, limit }) =>
          store.scoreLog
            .filter((score) => score.fingerprint === fingerprint && score.scoredAt >= sinceMs)
            .map((score) => refuseIf(score.scorer === faults.scorer, score))
            .filter(({ traceId }) => !rows.some((row) => row.traceId === traceId))
            .map(({ tenant, traceId, scorer, score }) => ({
              tenant,
              traceId,
              scores: [[scorer, score] as const],
            }))
            .slice(0, limit),
      },
      alerts: { judgeWork: async () => ({ deciding, drifts }) },
      markers: { record: async (marker) => void markers.push(refuseIf(faults.marker, marker)) },
    });
  const source = { scoring, rules: [prepareRule(rule)], settings: { ...SETTINGS, ...settings } };
  const look = async (kept = keeper(), minutes = 1) => {
    store.clockMs += minutes * MINUTE;
    await kept.look(source, new AbortController().signal);
  };
  const judgings = () => rows.filter(({ first }) => !first);
  return {
    store,
    rows,
    judgings,
    drifts,
    deciding,
    markers,
    faults,
    look,
    keeper,
    judgeMore: (count: number) => (runs = count),
  };
}

describe('the keeper of anchors', () => {
  it('freezes the first live scores, and asks their judge again past the cache, without a score or a decision', async () => {
    const { scorer, world } = paidScorer();
    const { store, rows, judgings, markers, look } = await openWorld(buildRule([scorer]));
    const [scores, decisions] = [store.scoreLog.length, store.decisionLog.length];
    world.score = 0.25;
    await look();
    expect(rows.filter(({ first }) => first).map(({ score }) => score)).toEqual([1, 1, 1]);
    expect(judgings()).toMatchObject([{ scorer: 'paid', score: 0.25, servedModel: 'judge-2' }]);
    expect(world.hadCache).toEqual([true, true, true, true, true, false]);
    expect([store.scoreLog.length, store.decisionLog.length]).toEqual([scores, decisions]);
    expect(store.judgeCallRows.filter(({ scoreId }) => scoreId === '')).toMatchObject([
      { traceId: judgings()[0]?.traceId, scorer: 'paid', servedModel: 'judge-2' },
    ]);
    expect(markers).toEqual([]);
  });

  it('marks the change of the model that serves a judge, once', async () => {
    const { scorer, world } = paidScorer();
    const { markers, judgeMore, look } = await openWorld(buildRule([scorer]));
    judgeMore(1_000);
    await look();
    world.served = 'judge-3';
    await look();
    await look();
    expect(markers).toMatchObject([{ service: 'test/judge', serviceVersion: 'judge-3', origin: 'seen' }]);
  });

  it('marks the change also when the store did not take the marker at first', async () => {
    const { scorer, world } = paidScorer();
    const { markers, faults, judgeMore, look, keeper } = await openWorld(buildRule([scorer]));
    const kept = keeper();
    judgeMore(1_000);
    await look(kept);
    world.served = 'judge-3';
    faults.marker = true;
    await expect(look(kept)).rejects.toThrow('the store is away');
    faults.marker = false;
    await look(kept);
    expect(markers).toMatchObject([{ serviceVersion: 'judge-3' }]);
  });

  it('asks no more than the limit of an hour while a look goes on beside the failure of another scorer', async () => {
    const { promise: isGoingOn, resolve: goOn } = Promise.withResolvers<void>();
    let asked = 0;
    const slow = judged('paid', async () => {
      if (currentJudgeScope().cache === undefined) {
        asked += 1;
        await isGoingOn;
      }
      return { score: 1 };
    });
    const other = new CountingScorer('other', undefined, 'test/other-judge');
    const settings = { size: 8, perHour: { min: 1, max: 8 } };
    const world = await openWorld(buildRule([slow, other]), 8, settings);
    world.judgeMore(1_000);
    world.faults.scorer = 'other';
    const kept = world.keeper();
    const looked = world.look(kept).catch(() => undefined);
    const lookedAgain = looked.then(() => world.look(kept)).catch(() => undefined);
    await vi.waitFor(() => expect(asked).toBe(4));
    await sleep(50);
    goOn();
    await lookedAgain;
    await sleep(50);
    expect(asked).toBe(8);
  });

  it('asks at the share of the judged runs within the limits of an hour, the anchors in turn', async () => {
    const { judgings, look, judgeMore, keeper } = await openWorld(buildRule([paidScorer().scorer]));
    const kept = keeper();
    await look(kept);
    await look(kept);
    expect(judgings()).toHaveLength(1);
    judgeMore(6);
    await look(kept);
    expect(new Set(judgings().map(({ traceId }) => traceId)).size).toBe(3);
    expect(judgings()).toHaveLength(3);
    judgeMore(1_000);
    for (let times = 0; times < 5; times += 1) {
      await look(kept, 0);
    }
    expect(judgings()).toHaveLength(3);
    await look(kept, 31);
    expect(judgings()).toHaveLength(6);
    await look(kept, 1);
    expect(judgings()).toHaveLength(6);
  });

  it('asks the least number of an hour steadily where the judge has little work', async () => {
    const { judgings, look, judgeMore, keeper } = await openWorld(buildRule([paidScorer().scorer]));
    judgeMore(0);
    const kept = keeper();
    await look(kept);
    await look(kept, 59);
    expect(judgings()).toHaveLength(0);
    await look(kept, 1);
    expect(judgings()).toHaveLength(1);
  });

  it('asks for the rest of the hour at once while an incident waits for the verdict', async () => {
    const { judgings, look, deciding, rows, keeper } = await openWorld(buildRule([paidScorer().scorer]));
    const kept = keeper();
    await look(kept);
    const fingerprint = rows[0]?.fingerprint ?? '';
    deciding.push(anAlert({ series: { ...anAlert().series, fingerprint } }));
    await look(kept);
    await look(kept);
    expect(judgings()).toHaveLength(6);
  });

  it('goes on from the store after a kill, and asks no more than the limit', async () => {
    const { judgings, look } = await openWorld(buildRule([paidScorer().scorer]));
    for (let life = 0; life < 4; life += 1) {
      await look();
    }
    expect(judgings()).toHaveLength(1);
  });

  it('asks again after a kill only what was under way', async () => {
    const { scorer, world } = paidScorer();
    const { rows, judgings, look, judgeMore } = await openWorld(buildRule([scorer]));
    judgeMore(6);
    const asked = () => world.hadCache.filter((had) => !had).length;
    world.hangAt = 3;
    const killed = look();
    await vi.waitFor(() => expect([asked(), judgings().length]).toEqual([3, 2]));
    world.hangAt = 0;
    await look();
    await look();
    expect([asked(), judgings().length]).toEqual([4, 3]);
    expect(new Set(judgings().map(({ traceId }) => traceId)).size).toBe(3);
    expect(rows.filter(({ first }) => first)).toHaveLength(3);
    world.goOn();
    await killed;
  });

  it('freezes one set when two processes look at once, and doubles no more than what both have under way', async () => {
    const { rows, judgings, look, keeper } = await openWorld(buildRule([paidScorer().scorer]));
    const [one, other] = [keeper(), keeper()];
    await Promise.all([look(one), look(other)]);
    await look(one);
    await look(other);
    expect(new Set(rows.filter(({ first }) => first).map(({ traceId }) => traceId)).size).toBe(3);
    expect(judgings().length).toBeLessThanOrEqual(2);
  });

  it('pays from the budget of the rule, and asks nothing when it is spent', async () => {
    const { scorer, world } = paidScorer();
    const rule = buildRule([scorer], { budget: { perDay: 0.65 } });
    const { store, judgings, look, keeper, judgeMore } = await openWorld(rule, 5, {
      perHour: { min: 5, max: 5 },
    });
    judgeMore(10);
    const kept = keeper();
    await look(kept);
    await look(kept);
    expect(judgings()).toHaveLength(1);
    const spent = store.spendRows.filter(({ kind }) => kind === 'call');
    expect(spent.reduce((sum, { costUsd }) => sum + costUsd, 0)).toBeCloseTo(0.6);
    expect(world.hadCache.filter((had) => !had).length).toBeGreaterThanOrEqual(1);
  });

  it('chooses other runs after an accepted change of the judge', async () => {
    const { rows, look, drifts, store } = await openWorld(buildRule([paidScorer().scorer]));
    await look();
    const series = { ...anAlert().series, fingerprint: rows[0]?.fingerprint ?? '' };
    drifts.push({ firing: anAlert({ series }), endedMs: null, acknowledgedMs: store.clockMs });
    await look();
    expect(rows.filter(({ first }) => first)).toHaveLength(3);
  });

  it.each([
    ['a scorer without a judge', buildRule([new CountingScorer('free')]), {}],
    ['a rule on sessions', buildRule([judged('paid')], { target: 'session' }), {}],
    ['a size of 0', buildRule([judged('paid')]), { size: 0 }],
  ])('keeps none for %s', async (_name, rule, settings) => {
    const { rows, look } = await openWorld(rule, 2, settings);
    await look();
    expect(rows).toEqual([]);
  });
});
