import { describe, expectTypeOf, it } from 'vitest';
import { jsonSchema as sdkSchema } from 'ai';
import { z } from 'zod';
import {
  createScorer,
  filterRun,
  notScorable,
  type Scorer,
  type ScorerRunInputForAgent,
  type ScorerRunOutputForAgent,
  type Trajectory,
} from '../../../../src/scorers/evals/index.ts';
import {
  createHallucinationScorer,
  createKeywordCoverageScorer,
  createToolCallAccuracyScorerCode,
} from '../../../../src/scorers/prebuilt/index.ts';
import { extractToolResults, getUserMessageFromRunInput } from '../../../../src/scorers/shared/utils.ts';

const judge = { model: 'openai/gpt-5-mini', instructions: 'You judge recipes.' };

describe('the types of createScorer', () => {
  it('give later steps what earlier steps returned, and untyped runs as they come', () => {
    const scorer = createScorer({ id: 'gluten', name: 'Gluten', description: 'No gluten', judge })
      .preprocess(({ run }) => ({ text: run.output.text as string, asked: run.input[0].content as string }))
      .analyze({
        description: 'Finds gluten',
        outputSchema: z.object({ isGlutenFree: z.boolean(), sources: z.array(z.string()) }),
        createPrompt: ({ run, results }) => `${run.output.text}${results.preprocessStepResult.text}`,
      })
      .generateScore(({ results }) => {
        expectTypeOf(results.preprocessStepResult).toEqualTypeOf<{ text: string; asked: string }>();
        expectTypeOf(results.analyzeStepResult).toEqualTypeOf<{ isGlutenFree: boolean; sources: string[] }>();
        return results.analyzeStepResult.isGlutenFree ? 1 : 0;
      })
      .generateReason({
        description: 'Says why',
        createPrompt: ({ results, score }) => `${score} for ${results.analyzeStepResult.sources.join()}`,
      });

    expectTypeOf(scorer).toExtend<Scorer>();
  });

  it('type agent scorers by messages', () => {
    createScorer({ id: 'agent', type: 'agent' }).generateScore(({ run }) => {
      expectTypeOf(run.input).toEqualTypeOf<ScorerRunInputForAgent | undefined>();
      expectTypeOf(run.output).toEqualTypeOf<ScorerRunOutputForAgent>();
      expectTypeOf(run.runId).toEqualTypeOf<string>();
      return run.input?.inputMessages[0]?.content.content === run.output[0]?.content.content ? 1 : 0;
    });
  });

  it('type scorers with schemas by their schemas', () => {
    createScorer({
      id: 'typed',
      type: { input: z.object({ question: z.string() }), output: z.object({ answer: z.string() }) },
    }).generateScore(({ run }) => {
      expectTypeOf(run.input).toEqualTypeOf<{ question: string } | undefined>();
      expectTypeOf(run.output).toEqualTypeOf<{ answer: string }>();
      return run.output.answer.length;
    });
  });

  it('type scorers by two named types', () => {
    interface Asked {
      readonly query: string;
    }
    interface Answered {
      readonly answer: string;
      readonly confidence: number;
    }
    const scorer = createScorer<Asked, Answered>({ id: 'named' })
      .preprocess(({ run }) => run.input?.query.length ?? 0)
      .generateScore(({ run, results }) => {
        expectTypeOf(run.input).toEqualTypeOf<Asked | undefined>();
        expectTypeOf(run.output).toEqualTypeOf<Answered>();
        return results.preprocessStepResult * run.output.confidence;
      });
    expectTypeOf<Parameters<typeof scorer.run>[0]['output']>().toEqualTypeOf<Answered>();
  });

  it('type scorers of trajectories by steps, and prepareRun like the steps', () => {
    createScorer({
      id: 'prepared',
      type: 'trajectory',
      prepareRun: (run) => {
        expectTypeOf(run.output).toEqualTypeOf<Trajectory>();
        return { ...run, output: { steps: run.output.steps.slice(-1) } };
      },
    }).generateScore(({ run }) => run.output.steps.length);
    createScorer({ id: 'filtered', type: 'agent', prepareRun: filterRun({ maxOutputMessages: 1 }) });
  });

  it('let every step be a prompt with a judge of its own, or not scorable', () => {
    createScorer({ id: 'steps', type: 'agent', judge })
      .preprocess({
        description: 'Names',
        outputSchema: { type: 'object', properties: { names: { type: 'array' } } },
        createPrompt: ({ run }) => String(run.output.length),
        judge: { model: 'openai/gpt-5', modelSettings: { temperature: 0.2 } },
      })
      .analyze(({ run }) => (run.output.length === 0 ? notScorable('no answer') : { long: true }))
      .generateScore({ description: 'Scores', createPrompt: ({ results }) => JSON.stringify(results) })
      .generateReason(({ results, score }) => {
        expectTypeOf(results.analyzeStepResult).toEqualTypeOf<{ long: boolean }>();
        expectTypeOf(score).toEqualTypeOf<number>();
        return `${score}`;
      });
  });

  it('take the type of a reply from any kind of schema', () => {
    const scorer = createScorer({ id: 'schemas', judge });
    const rest = { description: 'd', createPrompt: () => 'p' };
    scorer
      .preprocess({ ...rest, outputSchema: sdkSchema<{ n: number }>({ type: 'object' }) })
      .analyze({ ...rest, outputSchema: { '~standard': z.object({ s: z.string() })['~standard'] } })
      .generateScore(({ results }) => {
        expectTypeOf(results.preprocessStepResult).toEqualTypeOf<{ n: number }>();
        expectTypeOf(results.analyzeStepResult).toEqualTypeOf<{ s: string }>();
        return 1;
      });
  });

  it('take calculateScore with a schema of its own', () => {
    createScorer({ id: 'graded', judge }).generateScore({
      description: 'Grades',
      outputSchema: z.object({ points: z.array(z.number()) }),
      createPrompt: ({ run }) => String(run.output),
      calculateScore: ({ analyzeStepResult }) => {
        expectTypeOf(analyzeStepResult).toEqualTypeOf<{ points: number[] }>();
        return analyzeStepResult.points.length;
      },
    });
  });

  it('offer only the steps that may come next, and run only with a score', () => {
    const empty = createScorer({ id: 'order' });
    expectTypeOf(empty).not.toHaveProperty('run');
    expectTypeOf(empty).not.toHaveProperty('generateReason');
    const analyzed = empty.analyze(() => 1);
    expectTypeOf(analyzed).not.toHaveProperty('preprocess');
    expectTypeOf(analyzed).not.toHaveProperty('analyze');
    const scored = analyzed.generateScore(() => 1);
    expectTypeOf(scored).toHaveProperty('run');
    expectTypeOf(scored).not.toHaveProperty('generateScore');
    expectTypeOf(scored.generateReason(() => '')).not.toHaveProperty('generateReason');
  });

  it('let prebuilt scorers be written as their users write them', () => {
    const tools = createHallucinationScorer({
      model: 'openai/gpt-5-mini',
      options: {
        scale: 1,
        getContext: ({ run, step }) => [
          step,
          ...extractToolResults(run.output).map(({ toolName, result }) => `${toolName}: ${String(result)}`),
        ],
      },
    });
    const custom = createScorer({ id: 'custom', type: 'agent' }).generateScore(
      ({ run }) => getUserMessageFromRunInput(run.input)?.length ?? 0,
    );
    expectTypeOf([
      tools,
      custom,
      createKeywordCoverageScorer(),
      createToolCallAccuracyScorerCode({ expectedTool: 'weather' }),
    ]).toExtend<Scorer[]>();
  });
});
