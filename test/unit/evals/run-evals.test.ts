import { describe, expect, it } from 'vitest';
import { createScorer, runEvals } from '../../../src/evals/index.ts';
import type { EvalAgent } from '../../../src/evals/index.ts';
import { createTestMessage } from '../../../src/scorers/utils/index.ts';

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
  it('goes on after a failure and reports it by item and scorer', async () => {
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
});
