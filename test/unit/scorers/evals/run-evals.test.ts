import { describe, expect, it } from 'vitest';
import {
  createScorer,
  runEvals,
  type EvalAgent,
  type RunEvalsConfig,
  type Scorer,
} from '../../../../src/scorers/evals/index.ts';
import { createTestMessage } from '../../../../src/scorers/shared/utils.ts';

const failing = createScorer({ id: 'failing' }).generateScore(() => {
  throw new Error('no verdict');
});
const one = createScorer({ id: 'one' }).generateScore(() => 1);
const steps = createScorer({ id: 'steps', type: 'trajectory' }).generateScore(
  ({ run }) => run.output.steps.length,
);

/** Says what it was asked; fails on "down". */
function echo(seen: Record<string, unknown>[] = []): EvalAgent {
  return {
    generate: async (input: string, options: Record<string, unknown>) => {
      seen.push({ input, ...options });
      if (input === 'down') {
        throw new Error('the agent is down');
      }
      return { scoringData: { input, output: [createTestMessage({ content: input, role: 'assistant' })] } };
    },
  };
}

describe('runEvals', () => {
  it('continues after a failure and reports it by item and scorer', async () => {
    const { scores, errors } = await runEvals({
      target: echo(),
      data: [{ input: 'a' }, { input: 'down' }],
      scorers: [failing, one],
    });
    expect(scores).toEqual({ one: 1 });
    expect(errors).toMatchObject([
      { item: 0, scorerId: 'failing', id: 'RUN_EXPERIMENT_SCORER_FAILED_TO_SCORE_RESULT' },
      { item: 1, id: 'RUN_EXPERIMENT_TARGET_FAILED_TO_GENERATE_RESULT' },
    ]);
    expect(errors?.[1]?.message).toContain('the agent is down');
  });

  it('stops at the first failure when asked to', async () => {
    const seen: Record<string, unknown>[] = [];
    const running = runEvals({
      target: echo(seen),
      data: [{ input: 'down' }, { input: 'a' }],
      scorers: [one],
      failFast: true,
    });
    await expect(running).rejects.toMatchObject({ id: 'RUN_EXPERIMENT_TARGET_FAILED_TO_GENERATE_RESULT' });
    expect(seen).toHaveLength(1);
  });

  it('begins no further item once it is called off', async () => {
    const controller = new AbortController();
    const seen: Record<string, unknown>[] = [];
    const running = runEvals({
      target: echo(seen),
      data: [{ input: 'a' }, { input: 'b' }],
      scorers: [one],
      onItemComplete: () => controller.abort(new Error('enough')),
      abortSignal: controller.signal,
    });
    await expect(running).rejects.toThrow('enough');
    expect(seen).toHaveLength(1);
  });

  it('gives every conversation a thread of its own, and its turns the same one', async () => {
    const seen: { memory?: { thread: string } }[] = [];
    await runEvals({
      target: echo(seen as Record<string, unknown>[]),
      data: [{ inputs: ['a', 'b'] }, { inputs: ['c', 'd'] }],
      scorers: [one],
      concurrency: 2,
    });
    const threads = seen.map(({ memory }) => memory?.thread);
    expect(new Set(threads).size).toBe(2);
    expect(threads.every((thread) => typeof thread === 'string')).toBe(true);
  });

  it('hands the steps taken to scorers of trajectories, wherever they are listed', async () => {
    const { scores } = await runEvals({ target: echo(), data: [{ input: 'a' }], scorers: [steps] });
    expect(scores).toEqual({ steps: 0 });
  });

  it.each([0, -1, 1.5, Number.NaN])(
    'refuses %s items at once, which would leave some out',
    async (concurrency) => {
      const seen: Record<string, unknown>[] = [];
      const running = runEvals({ target: echo(seen), data: [{ input: 'a' }], scorers: [one], concurrency });
      await expect(running).rejects.toMatchObject({
        id: 'INVALID_CONCURRENCY',
        message: expect.stringContaining('whole number of 1 or more'),
      });
      expect(seen).toEqual([]);
    },
  );

  it('takes any object with run() as a scorer', async () => {
    const foreign = { id: 'foreign', run: async () => ({ score: 0.25 }) };
    const { scores } = await runEvals({ target: echo(), data: [{ input: 'a' }], scorers: [foreign] });
    expect(scores).toEqual({ foreign: 0.25 });
  });

  it.each([
    ['no number', { score: '0.5' }, 'the score "foreign" is "0.5", not a finite number'],
    ['no finite number', { score: Number.NaN }, 'the score "foreign" is NaN'],
    ['nothing', {}, 'gave no score'],
    ['no result', null, 'gave null, no result'],
  ])('makes no mean of a score that is %s', async (_what, result, message) => {
    const foreign = { id: 'foreign', run: async () => result } as unknown as Scorer;
    const data = [{ input: 'a' }];
    const scored = await runEvals({ target: echo(), data, scorers: [foreign, one] });
    expect(scored.scores).toEqual({ one: 1 });
    expect(scored.errors).toMatchObject([{ item: 0, scorerId: 'foreign' }]);
    expect(scored.errors?.[0]?.message).toContain(message);
    const gated = await runEvals({ target: echo(), data, gates: [foreign] });
    expect(gated).toMatchObject({ verdict: 'failed', gateResults: [{ id: 'foreign', passed: false }] });
    expect(gated.errors?.[0]?.message).toContain(message);
  });

  it('reports an agent without scoring data, and scores nothing', async () => {
    const silent = { generate: async () => ({}) };
    const { scores, errors } = await runEvals({ target: silent, data: [{ input: 'a' }], scorers: [one] });
    expect(scores).toEqual({});
    expect(errors?.[0]?.message).toContain('generate() gave no scoringData');
  });

  it.each([
    [{ scorers: [undefined] }, 'scorers[0] is no scorer'],
    [{ scorers: { agent: one } }, 'scorers.agent must be a list'],
    [{ scorers: [one, { scorer: { id: 'idle' } }] }, 'scorers[1] is no scorer'],
    [{ gates: one }, 'gates must be a list'],
    [{ gates: [{ id: 'idle' }] }, 'gates[0] is no scorer'],
    [{ scorers: [one], target: {} }, 'target is neither an agent'],
    [{ scorers: [one], target: undefined }, 'target is neither an agent'],
    [{ scorers: [{ scorer: one, threshold: { one: 2 } }] }, 'the threshold of "one" must be'],
  ])('begins nothing with %j', async (config, message) => {
    const seen: Record<string, unknown>[] = [];
    const given = { target: echo(seen), data: [{ input: 'a' }], ...config } as unknown as RunEvalsConfig;
    await expect(runEvals(given)).rejects.toThrow(message);
    expect(seen).toEqual([]);
  });
});

describe('a scorer of several scores in runEvals', () => {
  const several = createScorer({
    id: 'several',
    namedScoresOnly: true,
    details: () => ({
      scores: [
        { name: 'several-good', score: 0.75 },
        { name: 'several-bad', score: 0.25, higherIsBetter: false },
      ],
    }),
  }).generateScore(() => 0.75);
  const data = [{ input: 'a' }, { input: 'b' }];

  it('gives a mean for each, under its own name', async () => {
    const { scores } = await runEvals({ target: echo(), data, scorers: { agent: [several, one] } });
    expect(scores).toEqual({ agent: { 'several-good': 0.75, 'several-bad': 0.25, one: 1 } });
  });

  it('is compared with thresholds by name', async () => {
    const threshold = { 'several-good': 0.7, 'several-bad': { max: 0.2 } };
    const { verdict, thresholdResults } = await runEvals({
      target: echo(),
      data,
      scorers: [{ scorer: several, threshold }],
    });
    expect(verdict).toBe('scored');
    expect(thresholdResults).toEqual([
      { id: 'several-good', passed: true, averageScore: 0.75, threshold: 0.7 },
      { id: 'several-bad', passed: false, averageScore: 0.25, threshold: { max: 0.2 } },
    ]);
  });

  it.each([0.5, { 'several-god': 0.5 }])(
    'never keeps a threshold that it has no score for: %j',
    async (threshold) => {
      const { errors, verdict } = await runEvals({
        target: echo(),
        data: [{ input: 'a' }],
        scorers: [{ scorer: several, threshold }],
      });
      expect(errors?.[0]?.message).toMatch(/gave no score .* its scores are several-good, several-bad/);
      expect(verdict).toBeUndefined();
    },
  );

  it('is no gate that could pass', async () => {
    const { verdict, errors } = await runEvals({ target: echo(), data, gates: [several] });
    expect(verdict).toBe('failed');
    expect(errors?.[0]?.message).toContain('gives several scores and none of its own');
  });
});
