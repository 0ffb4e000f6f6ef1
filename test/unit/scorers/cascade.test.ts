import { describe, expect, it } from 'vitest';
import {
  createAskingProbability,
  createCascade,
  drawForRun,
  forecastWidth,
} from '../../../src/scorers/evals/cascade.ts';
import type { Scorer } from '../../../src/scorers/evals/index.ts';

const TERMS = { share: 0.2, floor: 0.05 };
/** Share of the runs that are true. */
const TRUE = 0.2;

/** Ways in which a first judge may tell its logit. */
const TOLD = {
  'a calibrated judge': (logit: number) => logit,
  'a judge that is too sure': (logit: number) => 3 * logit,
  'a judge that is too shy': (logit: number) => logit / 2,
  'a judge that says true too often': (logit: number) => logit + 1,
  'a judge that says true too seldom': (logit: number) => logit - 2,
};

/** Distance at which a detector has the AUC 0.88. */
const OF_AUC_88 = 1.66;

/** Creates a stream of numbers from 0 to 1 that is the same for the same seed (the generator mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Simulates runs that a detector tells apart by a distance, after 200 runs of calibration. Returns the costly calls as a share of those
 * of a uniform sample of the same width, the mean probability, and the error of the mean in standard errors.
 */
function simulate(distance: number, tell: (logit: number) => number, runs: number, seed: number) {
  const random = createRandom(seed);
  const asking = createAskingProbability(TERMS);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  let [added, asked, estimate, truth, least] = [0, 0, 0, 0, 1];
  for (let run = -200; run < runs; run += 1) {
    const isTrue = random() < TRUE ? 1 : 0;
    const signal = normal() + isTrue * distance;
    const logit = distance * signal - distance ** 2 / 2 + Math.log(TRUE / (1 - TRUE));
    const score = 1 / (1 + Math.exp(-tell(logit)));
    const finding = { score, spread: Math.sqrt(score * (1 - score)) };
    const probability = asking.of(finding);
    const isAsked = random() < probability;
    asking.add({ ...finding, last: isAsked ? isTrue : undefined });
    if (run >= 0) {
      added += (isTrue - score) ** 2 * (1 / probability - 1);
      asked += probability;
      estimate += score + (isAsked ? (isTrue - score) / probability : 0);
      truth += isTrue;
      least = Math.min(least, probability);
    }
  }
  const variance = TRUE * (1 - TRUE);
  const calls = (asked / runs) * ((variance + added / runs) / variance);
  const error = (estimate - truth) / Math.sqrt(runs * (variance + added / runs));
  return { calls, mean: asked / runs, least, error };
}

const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

const listSeeds = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('the probability that a cascade asks its second judge', () => {
  it.each([
    [0.76, 1, 'a calibrated judge', 0.88],
    [0.88, OF_AUC_88, 'a calibrated judge', 0.65],
    [0.96, 2.476, 'a calibrated judge', 0.42],
    [0.88, OF_AUC_88, 'a judge that is too sure', 0.75],
    [0.88, OF_AUC_88, 'a judge that is too shy', 0.75],
    [0.88, OF_AUC_88, 'a judge that says true too often', 0.75],
    [0.88, OF_AUC_88, 'a judge that says true too seldom', 0.75],
  ] as const)('saves costly calls with a detector of AUC %d and %#: %s', (_auc, distance, judge, bound) => {
    const all = listSeeds(10).map((seed) => simulate(distance, TOLD[judge], 2_000, seed));
    expect(meanOf(all.map(({ calls }) => calls))).toBeLessThanOrEqual(bound);
    for (const { mean, least } of all) {
      expect(mean).toBeGreaterThan(0.15);
      expect(mean).toBeLessThan(0.25);
      expect(least).toBeGreaterThanOrEqual(0.05);
    }
  });

  it.each(Object.keys(TOLD) as (keyof typeof TOLD)[])(
    'leaves the mean of 400 runs unbiased with %s',
    (judge) => {
      // The noise of a mean over 441 streams is below 0.05 standard errors.
      const errors = listSeeds(441).map((seed) => simulate(OF_AUC_88, TOLD[judge], 400, seed).error);
      expect(Math.abs(meanOf(errors))).toBeLessThan(0.1);
      expect(meanOf(errors.map((error) => error ** 2))).toBeLessThan(1);
    },
  );
});

describe('a forecast of a cascade', () => {
  const runs = listSeeds(100).map((seed) => {
    const score = seed / 101;
    const last = seed % 5 > 0 ? undefined : Number(drawForRun('truth', String(seed)) < score);
    return { score, spread: Math.sqrt(score * (1 - score)), last };
  });

  it('has the width of a sample where all runs ask the second judge, and is wider the fewer do', () => {
    const widths = [1, 0.5, 0.2, 0.1].map((share) => forecastWidth(runs, { share, floor: 0.05 }, 400));
    // Scores of 0 and 1 alike have a standard deviation of 0.5.
    expect(widths[0]).toBeCloseTo((2 * 1.96 * 0.5) / 20, 2);
    expect(widths).toEqual(widths.toSorted((a, b) => a - b));
    expect(new Set(widths).size).toBe(4);
  });
});

describe('a cascade', () => {
  const first: Scorer = {
    id: 'ask',
    judgeModel: 'a/cheap',
    run: async ({ runId }) => {
      const score = runId === 'sure' ? 1 : 0.6;
      return { score, verdicts: [{ statement: 's', verdict: 'true', probability: score }] };
    },
  };
  const second: Scorer = { id: 'ask', judgeModel: 'b/dear', run: async () => ({ score: 1 }) };
  const runs = Array.from({ length: 300 }, (_, index) => ({ output: 'x', runId: `run ${index}` }));

  it('has the score of the judge that was asked last, the score of the first, and the probability', async () => {
    const scorer = createCascade('policy', [first, second], TERMS);
    expect(scorer.judgeModel).toBe('a/cheap,b/dear');
    for (const run of runs) {
      const { score, cascade } = await scorer.run(run);
      const { rung, probability = 0, firstScores } = cascade ?? {};
      expect(rung).toBe(drawForRun('policy', run.runId) < probability ? 2 : 1);
      expect(score).toBe(rung === 2 ? 1 : 0.6);
      expect(firstScores?.get('')).toBe(0.6);
    }
  });

  it('asks the first judge alone about a run that it is sure of, but for the floor', async () => {
    const scorer = createCascade('policy', [first, second], TERMS);
    await Promise.all(runs.map((run) => scorer.run(run)));
    expect((await scorer.run({ output: 'x', runId: 'sure' })).cascade?.probability).toBe(0.05);
  });

  it('fails where the second judge is due and fails', async () => {
    const failing: Scorer = { id: 'ask', run: async () => Promise.reject(new Error('down')) };
    const scorer = createCascade('policy', [first, failing], { share: 1, floor: 1 });
    await expect(scorer.run({ output: 'x', runId: 'any' })).rejects.toThrow('down');
  });
});
