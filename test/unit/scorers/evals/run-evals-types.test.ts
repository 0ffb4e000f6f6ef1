import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  createScorer,
  runEvals,
  type EvalAgent,
  type EvalWorkflow,
  type RunEvalsResult,
  type Scorer,
} from '../../../../src/scorers/evals/index.ts';
import { evalMatchers, expectEval, expectEvals } from '../../../../src/scorers/evals/vitest.ts';
import {
  HallucinationMetric,
  SummarizationMetric,
  ToneConsistencyMetric,
  type Metric,
} from '../../../../src/scorers/legacy/index.ts';
import { calledTool, checks } from '../../../../src/scorers/prebuilt/checks.ts';
import { createGroundingScorer, createTrajectoryScorerCode } from '../../../../src/scorers/prebuilt/index.ts';

const agent: EvalAgent = {
  generate: async (input: string) => ({ text: input, scoringData: { input, output: [] } }),
};
const workflow: EvalWorkflow = {
  createRun: () => ({ start: async () => ({ status: 'success', result: 1 }) }),
};
const one = createScorer({ id: 'one' }).generateScore(() => 1);

describe('the types of runEvals', () => {
  it('let results be read by the names of the scorers', async () => {
    const seen: number[] = [];
    const result = await runEvals({
      target: agent,
      data: [{ input: 'a', groundTruth: 'b', expectedTrajectory: { steps: [] } }],
      scorers: [{ scorer: one, threshold: { min: 0.5 } }, checks.includes('x')],
      gates: [calledTool('weather'), one],
      targetOptions: { maxSteps: 3 },
      concurrency: 2,
      onItemComplete: ({ item, targetResult, scorerResults }) => {
        expectTypeOf(item.input).toEqualTypeOf<string>();
        seen.push(scorerResults[one.id].score, targetResult.text.length);
      },
    });
    expectTypeOf(result).toEqualTypeOf<RunEvalsResult>();
    expect([...seen, result.scores[one.id]]).toEqual([1, 1, 1]);
    expect(evalMatchers.toHaveScoreAbove(result, 'one', 0.5).pass).toBe(true);
  });

  it('take groups, conversations and workflows', async () => {
    const trajectory = createTrajectoryScorerCode({ defaults: { maxSteps: 5 } });
    const grouped = await runEvals({
      target: agent,
      data: [{ inputs: ['a', 'b'] }, { turns: [{ input: 'a', gates: [one], scorers: [one] }] }],
      scorers: { agent: [one], trajectory: [trajectory] },
    });
    expect(grouped.scores['trajectory'][trajectory.id]).toBe(1);
    const { scores } = await runEvals({
      target: workflow,
      data: [{ input: 1, startOptions: { resourceId: 'r' } }],
      scorers: { workflow: [one], steps: { plan: [one] }, trajectory: [one] },
    });
    expect(scores['workflow'].one).toBe(1);
  });

  it('make an expectation of an evaluation', async () => {
    const { scores } = await expectEvals({ target: agent, data: [{ input: 'a' }], scorers: [one] }).toPass(
      0.9,
    );
    expect(scores).toEqual({ one: 1 });
    const { verdict } = await expectEval({ target: agent, data: { input: 'a' }, gates: [one] }).toPass();
    expect(verdict).toBe('passed');
  });
});

describe('the types of what scores without a run of its own', () => {
  it('let metrics measure two texts', () => {
    const model = 'openai/gpt-5-mini';
    const metrics = {
      hallucination: new HallucinationMetric(model, { context: ['Paris: 18 degrees'], scale: 1 }),
      summarization: new SummarizationMetric(model),
      tone: new ToneConsistencyMetric(),
    };
    type InfoOf<T extends Metric<unknown>> = Awaited<ReturnType<T['measure']>>['info'];
    expectTypeOf<InfoOf<typeof metrics.hallucination>>().toEqualTypeOf<{ reason: string }>();
    expectTypeOf<InfoOf<typeof metrics.summarization>['coverageScore']>().toEqualTypeOf<number>();
    expectTypeOf<InfoOf<typeof metrics.tone>>().toBeObject();
  });

  it('accept checks and grounding in every place of a scorer', () => {
    const grounding = createGroundingScorer({
      model: 'openai/gpt-5-mini',
      options: { getContext: ({ run }) => [JSON.stringify(run.groundTruth ?? '')], reason: false },
    });
    expectTypeOf([grounding, checks.noToolErrors(), checks.matches(/\d/, { exact: true })]).toExtend<
      Scorer[]
    >();
  });
});
