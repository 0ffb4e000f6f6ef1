import { describe, expect, it } from 'vitest';
import {
  estimateCost,
  MOST_RENDERED,
  PlannedWork,
  type EstimatedWork,
  type Pace,
} from '../../../src/jobs/estimate.ts';
import type { RenderedRun } from '../../../src/jobs/render-questions.ts';
import { prepareRule } from '../../../src/scoring/select/rule.ts';
import type { CallSize } from '../../../src/store/contracts/stores.ts';
import { seededRandom } from '../../support/builders/score-streams.ts';
import { buildRule, judged } from '../../support/scoring/scoring-world.ts';

const PRICES = { 'test/judge': { input: 1, output: 5 } };
const PACE: Pace = {
  findProvider: () => ({ concurrency: 16 }),
  places: 16,
  share: 1,
  tracesPerSecond: null,
  traces: null,
};
const [A, B] = prepareRule(buildRule([judged('a'), judged('b')])).scorers.map((scorer) => ({
  rule: 'r',
  title: 'r',
  scorer,
}));
const keyOf = (traceId: string) => ({ tenant: '', traceId });

function buildRun(scoreId: string, runBytes: number, model = 'test/judge'): RenderedRun {
  const tokens = { inputTokens: 10, outputTokens: 500 };
  const call = { step: 'preprocess', model, promptBytes: runBytes, tokens, estimatedUsd: 0 };
  return { rule: 'r', scorer: 'a', traceId: scoreId, scoreId, runBytes, calls: [call], reason: '' };
}

function buildSize(fields: Partial<CallSize>): CallSize {
  return {
    tenant: '',
    traceId: 't',
    scoreId: 's',
    scorer: 'a',
    step: 'preprocess',
    model: 'test/judge',
    promptBytes: 300,
    isRepeat: false,
    inputTokens: 100,
    outputTokens: 20,
    costUsd: null,
    durationMs: 1_000,
    calledAtMs: 0,
    ...fields,
  };
}

/** Estimates 100 runs like this one, from stored calls whose runs have the given sizes. */
function estimateLike(
  run: RenderedRun,
  sizes: readonly CallSize[],
  {
    bytes = new Map(),
    ...parts
  }: Partial<EstimatedWork> & { readonly bytes?: ReadonlyMap<string, number> } = {},
) {
  return estimateCost({
    targets: 100,
    pairs: [{ ...A!, count: 100, sample: new Map([['new', keyOf('new')]]) }],
    runs: new Map([['new', [run]]]),
    sizes,
    stored: new Map([...bytes].map(([id, runBytes]) => [id, { runBytes }])),
    prices: PRICES,
    pace: PACE,
    ...parts,
  });
}

describe('the interval of an estimate', () => {
  /** Draws a run with a long tail of sizes, and what it really costs. */
  function drawRun(random: () => number, id: string) {
    const run = buildRun(id, Math.floor(500 + 20_000 * random() ** 4));
    const inputTokens = Math.round(run.runBytes / 3.6) + 20;
    const outputTokens = Math.round(50 + 300 * random() ** 2);
    return { run, inputTokens, outputTokens, costUsd: (inputTokens + 5 * outputTokens) / 1e6 };
  }

  /** Estimates the cost of 1,000 runs from 40 that were made. Returns it with the real one. */
  function estimateDrawn(seed: number) {
    const random = seededRandom(seed);
    const known = Array.from({ length: 40 }, (_, n) => drawRun(random, `known ${seed} ${n}`));
    const all = Array.from({ length: 1_000 }, (_, n) => drawRun(random, `new ${seed} ${n}`));
    const work = new PlannedWork();
    all.forEach(({ run }) => work.add(keyOf(run.traceId), [A!]));
    const estimate = estimateCost({
      pairs: work.list(),
      runs: new Map(all.map(({ run }) => [` ${run.traceId}`, [run]])),
      sizes: known.map(({ run, ...paid }) => buildSize({ ...paid, scoreId: run.scoreId })),
      stored: new Map(known.map(({ run }) => [run.scoreId, run])),
      prices: PRICES,
      pace: PACE,
      targets: all.length,
    });
    return { estimate, realUsd: all.reduce((sum, { costUsd }) => sum + costUsd, 0) };
  }

  it('holds about 95 of 100 real costs, and is narrow', () => {
    const drawn = Array.from({ length: 200 }, (_, seed) => estimateDrawn(seed));
    const held = drawn.filter(
      ({ estimate: { costLow, costHigh }, realUsd }) => realUsd > (costLow ?? 0) && realUsd < (costHigh ?? 0),
    );
    expect(held.length / drawn.length).toBeGreaterThan(0.9);
    const widths = drawn.map(
      ({ estimate: { costLow, costHigh }, realUsd }) => ((costHigh ?? 0) - (costLow ?? 0)) / realUsd,
    );
    expect(widths.reduce((sum, width) => sum + width, 0) / widths.length).toBeLessThan(0.8);
  });

  it('counts the calls of all targets, from the prompts of a sample', () => {
    const { estimate } = estimateDrawn(1);
    expect(estimate).toMatchObject({ basis: 'stored_calls', judgeCalls: 1_000, prompts: 50 });
  });
});

describe('what stored calls tell of a scorer', () => {
  /** Runs of two steps. The second one has the first prompt again, and every fourth run needs no second one. */
  const RUNS = Array.from({ length: 40 }, (_, n) => {
    const promptBytes = 300 + 30 * n;
    const first = buildSize({ scoreId: `s${n}`, promptBytes, inputTokens: 20 + promptBytes / 3 });
    const again = { step: 'analyze', inputTokens: 40 + promptBytes / 3, outputTokens: 50, calledAtMs: 1 };
    return n % 4 === 0 ? [first] : [first, { ...first, ...again }];
  }).flat();
  const bytes = new Map(RUNS.map(({ scoreId, promptBytes }) => [scoreId, promptBytes]));
  const RUN = buildRun('new', 600);
  const questions = RUNS.filter(({ step }) => step === 'preprocess');
  const repeats = questions.map((call) => ({ ...call, isRepeat: true, calledAtMs: 0.5 }));
  const seconds = RUNS.filter(({ step }) => step === 'analyze');
  const madeAgain = RUNS.map((call) => ({ ...call, calledAtMs: call.calledAtMs + 1_000 }));

  it.each([
    [
      'calls each step as often as before, with tokens by size',
      RUNS,
      { calls: 175, input: 40_000, output: 5_750 },
    ],
    ['asks again as often as before', [...RUNS, ...repeats], { calls: 275, input: 62_000, output: 7_750 }],
    [
      'that was made twice is not doubled',
      [...RUNS, ...madeAgain],
      { calls: 175, input: 40_000, output: 5_750 },
    ],
    [
      'whose first answer was reused has no first call',
      seconds,
      { calls: 100, input: 24_000, output: 5_000 },
    ],
  ])('a run %s', (_, sizes, { calls, input, output }) => {
    const estimate = estimateLike(RUN, sizes, { bytes });
    expect(estimate.basis).toBe('stored_calls');
    expect(estimate.judgeCalls).toBe(calls);
    expect(Math.abs(estimate.inputTokens / input - 1)).toBeLessThan(0.05);
    expect(Math.abs(estimate.outputTokens / output - 1)).toBeLessThan(0.05);
  });

  it('is the mean of all runs for runs of unknown sizes, and for a scorer whose prompts are not rendered', () => {
    const mean = { basis: 'stored_calls', judgeCalls: 175, inputTokens: 57_000 };
    expect(estimateLike(RUN, RUNS)).toMatchObject(mean);
    const slots = { pending: () => 0, low: 1, high: 2 };
    const own = { ...A!, scorer: { ...A!.scorer, own: slots }, count: 100, sample: new Map() };
    expect(estimateLike(RUN, RUNS, { pairs: [own], bytes }).judgeCalls).toBe(175);
  });

  it('is nothing for another judge, or from very few runs', () => {
    const declared = { basis: 'declared_lengths', judgeCalls: 100, outputTokens: 50_000 };
    expect(estimateLike(buildRun('new', 600, 'test/other'), RUNS, { bytes })).toMatchObject(declared);
    expect(estimateLike(RUN, RUNS.slice(0, 4), { bytes })).toMatchObject(declared);
    expect(estimateLike(RUN, [])).toMatchObject(declared);
  });

  it('is less sure for runs of other sizes', () => {
    const noisy = RUNS.map((call, n) => ({ ...call, outputTokens: 20 + (n % 5) }));
    const width = (runBytes: number) => {
      const { costLow, costHigh } = estimateLike(buildRun('new', runBytes), noisy, { bytes });
      return (costHigh ?? 0) - (costLow ?? 0);
    };
    expect(width(900)).toBeGreaterThan(0);
    expect(width(9_000)).toBeGreaterThan(4 * width(900));
  });

  it.each([
    ['lies on the line of the sizes', 10, (n: number) => n, 4, 22],
    ['follows the line beyond the sizes', 10, (n: number) => n, 12, 46],
    ['is the mean of few runs', 7, (n: number) => n, 100, 19],
    ['is the mean of equal sizes', 10, () => 5, 1_000, 23.5],
    ['is never below 0', 10, (n: number) => n, -100, 0],
    ['is never far above the greatest one', 10, (n: number) => n, 1e9, 4 * 37],
  ])('the tokens of a run: the prediction %s', (_, count, sizeOf, runBytes, tokens) => {
    const ids = Array.from({ length: count }, (_each, n) => n);
    const sizes = ids.map((n) => buildSize({ scoreId: `s${n}`, inputTokens: 10 + 3 * n }));
    const sized = new Map(ids.map((n) => [`s${n}`, sizeOf(n)]));
    const estimate = estimateLike(buildRun('new', runBytes), sizes, { bytes: sized });
    expect(estimate.inputTokens).toBe(Math.round(100 * tokens));
  });
});

it.each([
  ['less where the provider had cached input', 5.5, { cachedInput: 1 }, 5.5],
  ['at least what a cache leaves: prices may have changed since', 0.1, { cachedInput: 1 }, 1],
  ['at most the present price', 50, { cachedInput: 1 }, 10],
  ['the present price of a judge without a price for cached input', 5, {}, 10],
  ['the present price of a call whose cost is unknown', null, {}, 10],
])('the cost of a run is %s', (_, costUsd, price, expectedUsd) => {
  const sizes = Array.from({ length: 5 }, (_each, n) =>
    buildSize({ scoreId: `s${n}`, inputTokens: 1e6, outputTokens: 0, costUsd }),
  );
  const prices = { 'test/judge': { input: 10, output: 0, ...price } };
  expect(estimateLike(buildRun('new', 1), sizes, { prices }).costUsd).toBeCloseTo(100 * expectedUsd);
});

describe('the time of work', () => {
  const sizes = Array.from({ length: 10 }, (_, n) => buildSize({ scoreId: `s${n}`, durationMs: 2_000 }));
  const estimate = (pace: Partial<Pace>) =>
    estimateLike(buildRun('new', 1), sizes, {
      pace: { ...PACE, findProvider: () => ({ concurrency: 10 }), places: 20, ...pace },
    }).seconds;

  it.each<[string, Partial<Pace>, number]>([
    ['the provider', {}, 20],
    ['the places of judges', { places: 2 }, 100],
    ['the share of the job', { share: 0.1 }, 200],
    ['the traces at the same time', { traces: 1 }, 200],
    ['the traces a second', { tracesPerSecond: 0.5 }, 200],
    [
      'the requests of the provider',
      { findProvider: () => ({ concurrency: 10, requestsPerMinute: 60 }) },
      100,
    ],
    [
      'the tokens of the provider',
      { findProvider: () => ({ concurrency: 10, tokensPerMinute: 12_000 }) },
      60,
    ],
  ])('is that of the narrowest limit: %s', (_, pace, seconds) => {
    expect(estimate(pace)).toBe(seconds);
  });

  it('without judge calls is the time of the traces', () => {
    expect(estimateLike(buildRun('new', 1), [], { pairs: [] }).seconds).toBe(1);
  });
});

describe('planned work', () => {
  const names = Array.from({ length: 500 }, (_, n) => `trace ${n}`);
  const plan = (order: readonly string[]) => {
    const work = new PlannedWork();
    order.forEach((name) => work.add(keyOf(name), name.endsWith('7') ? [A!, B!] : [A!]));
    return work;
  };

  it('counts all targets, and keeps the same sample whatever their order is', () => {
    const work = plan(names);
    const [first, second] = work.list();
    expect(work.targets).toBe(500);
    expect([first?.count, second?.count]).toEqual([500, 50]);
    expect([first?.sample.size, second?.sample.size]).toEqual([MOST_RENDERED, 50]);
    const reversed = plan(names.toReversed())
      .list()
      .find(({ scorer }) => scorer.name === 'a');
    expect([...(reversed?.sample.keys() ?? [])]).toEqual([...(first?.sample.keys() ?? [])]);
  });

  it('shares the targets of its samples between scorers', () => {
    const [first, second] = plan(names).list();
    const shared = [...(first?.sample.keys() ?? [])].filter((name) => name.endsWith('7'));
    expect(shared.length).toBeGreaterThan(0);
    expect(shared.every((name) => second?.sample.has(name))).toBe(true);
  });

  it('leaves out targets without work', () => {
    const work = new PlannedWork();
    work.add(keyOf('x'), []);
    expect([work.targets, work.list()]).toEqual([0, []]);
  });
});
