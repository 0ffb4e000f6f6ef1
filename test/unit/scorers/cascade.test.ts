import { describe, expect, it } from 'vitest';
import { createAskingProbability, createCascade, drawForRun } from '../../../src/scorers/evals/cascade.ts';
import type { Scorer } from '../../../src/scorers/evals/index.ts';

const TERMS = { share: 0.2, floor: 0.05 };
/** Share of the runs that are true. */
const TRUE = 0.2;

/** Creates a stream of numbers from 0 to 1 that is the same for the same seed. */
function createRandom(seed: number): () => number {
  let index = 0;
  return () => drawForRun(`seed ${seed}`, String((index += 1)));
}

/**
 * Simulates runs that a detector tells apart by a distance, after 200 runs of calibration. Returns the costly calls as a share of those
 * of a uniform sample of the same width, the mean probability, and the bias in standard errors.
 */
function simulate(distance: number, runs: number, random: () => number) {
  const asking = createAskingProbability(TERMS);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  let [added, asked, estimate, truth, least] = [0, 0, 0, 0, 1];
  for (let run = -200; run < runs; run += 1) {
    const isTrue = random() < TRUE ? 1 : 0;
    const signal = normal() + isTrue * distance;
    const logit = distance * signal - distance ** 2 / 2 + Math.log(TRUE / (1 - TRUE));
    const first = 1 / (1 + Math.exp(-logit));
    const spread = Math.sqrt(first * (1 - first));
    const probability = asking.of(spread);
    const isAsked = random() < probability;
    asking.add(spread, probability, isAsked ? isTrue - first : undefined);
    if (run >= 0) {
      added += (isTrue - first) ** 2 * (1 / probability - 1);
      asked += probability;
      estimate += first + (isAsked ? (isTrue - first) / probability : 0);
      truth += isTrue;
      least = Math.min(least, probability);
    }
  }
  const variance = TRUE * (1 - TRUE);
  const ofMean = (variance + added / runs) / runs;
  const calls = (asked / runs) * ((variance + added / runs) / variance);
  return { calls, mean: asked / runs, least, bias: (estimate - truth) / runs / Math.sqrt(ofMean) };
}

describe('the probability that a cascade asks its second judge', () => {
  it.each([
    [0.76, 1, 0.88],
    [0.88, 1.66, 0.65],
    [0.96, 2.476, 0.42],
  ])('saves costly calls with a detector of AUC %d', (_auc, distance, bound) => {
    const reached = simulate(distance, 2_000, createRandom(1));
    expect(reached.calls).toBeLessThanOrEqual(bound);
    expect(reached.mean).toBeGreaterThan(0.15);
    expect(reached.mean).toBeLessThan(0.25);
    expect(reached.least).toBeGreaterThanOrEqual(0.05);
    expect(Math.abs(reached.bias)).toBeLessThan(2.5);
  });
});

describe('a cascade', () => {
  const first: Scorer = {
    id: 'ask',
    judgeModel: 'a/cheap',
    run: async ({ runId }) => ({
      score: 0.6,
      verdicts: [{ statement: 's', verdict: 'true', probability: runId === 'sure' ? 1 : 0.6 }],
    }),
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
