import { expect, it } from 'vitest';
import { estimateCost } from '../../../src/estimate/estimate-cost.ts';
import { PlannedWork } from '../../../src/estimate/planned-work.ts';
import type { RenderedRun } from '../../../src/estimate/render-calls.ts';
import { prepareRule } from '../../../src/scoring/select/rule.ts';
import { seededRandom } from '../../support/builders/score-streams.ts';
import { buildRule, judged } from '../../support/scoring/scoring-world.ts';

const PRICES = { 'test/judge': { input: 1, output: 5 } };
const [SCORER] = prepareRule(buildRule([judged('a')])).scorers;

/** Draws a run with a long tail of sizes, and what it really costs. */
function drawRun(random: () => number, id: string) {
  const runBytes = Math.floor(500 + 20_000 * random() ** 4);
  const run: RenderedRun = {
    rule: 'r',
    scorer: 'a',
    traceId: id,
    scoreId: id,
    runBytes,
    calls: [
      {
        step: 'analyze',
        model: 'test/judge',
        promptBytes: runBytes,
        tokens: { inputTokens: 0, outputTokens: 0 },
        estimatedUsd: 0,
      },
    ],
    reason: '',
  };
  const inputTokens = Math.round(runBytes / 3.6) + 20;
  const outputTokens = Math.round(50 + 300 * random() ** 2);
  return { run, inputTokens, outputTokens, costUsd: (inputTokens + 5 * outputTokens) / 1e6 };
}

/** Estimates the cost of 1,000 runs from 40 that were made. Returns it with the real one. */
function estimateDrawn(seed: number) {
  const random = seededRandom(seed);
  const known = Array.from({ length: 40 }, (_, n) => drawRun(random, `known ${seed} ${n}`));
  const all = Array.from({ length: 1_000 }, (_, n) => drawRun(random, `new ${seed} ${n}`));
  const work = new PlannedWork<string>();
  all.forEach(({ run }) => work.add(run.traceId, run.traceId, [{ rule: 'r', title: 'r', scorer: SCORER! }]));
  const estimate = estimateCost({
    cells: work.list(),
    runs: new Map(all.map(({ run }) => [run.traceId, [run]])),
    sizes: known.map(({ run, inputTokens, outputTokens, costUsd }) => ({
      tenant: '',
      traceId: run.traceId,
      scoreId: run.scoreId,
      scorer: 'a',
      step: 'analyze',
      model: 'test/judge',
      promptBytes: run.runBytes,
      isRepeat: false,
      inputTokens,
      outputTokens,
      costUsd,
      durationMs: 1_000,
      calledAtMs: 0,
    })),
    stored: new Map(known.map(({ run }) => [run.scoreId, run])),
    prices: PRICES,
    pace: { findProvider: () => ({ concurrency: 16 }), places: 16, tracesPerSecond: null, traces: null },
    targets: all.length,
  });
  return { estimate, realUsd: all.reduce((sum, { costUsd }) => sum + costUsd, 0) };
}

it('about 95 of 100 real costs lie within the interval, which is narrow', () => {
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

it('the calls are those of all targets, from the prompts of a sample', () => {
  const { estimate } = estimateDrawn(1);
  expect(estimate).toMatchObject({ basis: 'stored_calls', judgeCalls: 1_000, prompts: 50 });
});
