import { describe, expect, it } from 'vitest';
import { findPaidParts, LearnedScorer } from '../../../src/estimate/learned-calls.ts';
import type { CallSize } from '../../../src/store/contracts/judge-use.ts';

function buildSize(fields: Partial<CallSize>): CallSize {
  return {
    tenant: '',
    traceId: 't',
    scoreId: 's',
    scorer: 'a',
    step: 'preprocess',
    model: 'fake/judge',
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

/** Runs of two steps. The second one has the first prompt again, and every fourth run needs no second one. */
const RUNS = Array.from({ length: 40 }, (_, n) => {
  const promptBytes = 300 + 30 * n;
  const first = buildSize({ scoreId: `s${n}`, promptBytes, inputTokens: 20 + promptBytes / 3 });
  const second = buildSize({
    ...first,
    step: 'analyze',
    promptBytes: promptBytes + 60,
    inputTokens: 40 + promptBytes / 3,
    outputTokens: 50,
    calledAtMs: 1,
  });
  return n % 4 === 0 ? [first] : [first, second];
}).flat();

const total = (calls: ReturnType<LearnedScorer['predict']>) => ({
  calls: calls?.reduce((sum, each) => sum + each.calls, 0),
  inputTokens: calls?.reduce((sum, each) => sum + each.inputTokens, 0),
  outputTokens: calls?.reduce((sum, each) => sum + each.outputTokens, 0),
});

/** Builds a run whose first question has this size. */
function buildRun(promptBytes: number, first: { step?: string; model?: string } = {}) {
  const call = {
    step: 'preprocess',
    model: 'fake/judge',
    promptBytes,
    tokens: { inputTokens: 0, outputTokens: 0 },
    estimatedUsd: 0,
    ...first,
  };
  return { calls: [call], runBytes: promptBytes };
}

const RENDERED = new Map(
  RUNS.flatMap(({ scoreId, step, promptBytes }) =>
    step === 'preprocess' ? [[scoreId, buildRun(promptBytes)] as const] : [],
  ),
);
const RUN = buildRun(600);

describe('what stored calls tell of a scorer', () => {
  it('is a call of each step for a run, as often as before, with tokens by the size of the first prompt', () => {
    const { calls, inputTokens, outputTokens } = total(new LearnedScorer(RUNS, RENDERED).predict(RUN));
    expect(calls).toBeCloseTo(1.75);
    expect(inputTokens).toBeCloseTo(220 + 0.75 * 240);
    expect(outputTokens).toBeCloseTo(20 + 0.75 * 50);
  });

  it('counts questions that were asked again once for each first question', () => {
    const repeats = RUNS.filter(({ step }) => step === 'preprocess').map((call) => ({
      ...call,
      isRepeat: true,
      promptBytes: call.promptBytes + 90,
      inputTokens: call.inputTokens + 30,
      calledAtMs: 0.5,
    }));
    expect(total(new LearnedScorer([...RUNS, ...repeats], RENDERED).predict(RUN)).calls).toBeCloseTo(2.75);
  });

  it('does not double for a run that was made twice', () => {
    const again = RUNS.map((call) => ({ ...call, calledAtMs: call.calledAtMs + 1_000 }));
    const { calls, inputTokens } = total(new LearnedScorer([...RUNS, ...again], RENDERED).predict(RUN));
    expect(calls).toBeCloseTo(1.75);
    expect(inputTokens).toBeCloseTo(400);
  });

  it('leaves out a first question whose answer was reused', () => {
    const shared = RUNS.filter(({ step }) => step === 'analyze');
    const { calls, inputTokens } = total(new LearnedScorer(shared, RENDERED).predict(RUN));
    expect(calls).toBeCloseTo(1);
    expect(inputTokens).toBeCloseTo(240);
  });

  it('is the mean of all runs for one that begins in another way, or cannot be rendered', () => {
    const scorer = new LearnedScorer(RUNS, RENDERED);
    expect(total(scorer.predict(buildRun(600, { step: 'analyze' }))).calls).toBeCloseTo(1.75);
    expect(total(scorer.predictMean()).calls).toBeCloseTo(1.75);
    expect(total(new LearnedScorer(RUNS, new Map()).predict(RUN)).calls).toBeCloseTo(1.75);
  });

  it('is nothing for another judge, or from very few runs', () => {
    expect(new LearnedScorer(RUNS, RENDERED).predict(buildRun(600, { model: 'fake/other' }))).toBeNull();
    expect(new LearnedScorer(RUNS.slice(0, 4), RENDERED).predict(RUN)).toBeNull();
    expect(new LearnedScorer([], RENDERED).predictMean()).toBeNull();
  });

  it('is less sure for runs of other sizes', () => {
    const noisy = RUNS.map((call, n) => ({ ...call, outputTokens: 20 + (n % 5) }));
    const pricing = {
      prices: { 'fake/judge': { input: 1, output: 1 } },
      paidParts: new Map<string, number>(),
    };
    const scorer = new LearnedScorer(noisy, RENDERED);
    const [near, far] = [900, 9_000].map((bytes) => scorer.measureSpread(pricing, bytes));
    expect(near?.ofRun).toBeGreaterThan(0);
    expect(far?.ofPrediction).toBeGreaterThan(20 * (near?.ofPrediction ?? 0));
  });
});

describe('the part of the price that was paid', () => {
  const prices = { 'fake/judge': { input: 10, cachedInput: 1, output: 0 } };
  const paid = (costUsd: number | null, table = {}) =>
    findPaidParts([buildSize({ inputTokens: 1e6, outputTokens: 0, costUsd })], { ...prices, ...table }).get(
      'fake/judge',
    );

  it('is less than 1 where the provider had cached input', () => {
    expect(paid(5.5)).toBeCloseTo(0.55);
  });

  it('stays within what a cache explains: prices may have changed since', () => {
    expect(paid(0.1)).toBeCloseTo(0.1);
    expect(paid(50)).toBe(1);
    expect(paid(5, { 'fake/judge': { input: 10, output: 0 } })).toBe(1);
    expect(paid(null, { 'fake/judge': undefined })).toBe(1);
  });
});
