import { inspect } from 'node:util';
import { jsonSchema as sdkSchema, zodSchema } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AppError } from '../../../../src/domain/errors.ts';
import {
  createScorer,
  notScorable,
  ScorerRunError,
  type OutputSchema,
  type ScorerRunInput,
} from '../../../../src/scorers/evals/index.ts';
import { createBiasScorer } from '../../../../src/scorers/prebuilt/index.ts';
import { scriptedModel } from '../../../support/fakes/scripted-model.ts';

const RUN: ScorerRunInput = { input: 'q', output: 'a' };

async function readFailure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('createScorer', () => {
  it('leaves a scorer as it was when another one is built on it', async () => {
    const base = createScorer({ id: 'base' }).preprocess(() => 1);
    const one = base.generateScore(({ results }) => results.preprocessStepResult);
    const two = base.generateScore(({ results }) => results.preprocessStepResult + 1);

    expect([(await one.run(RUN)).score, (await two.run(RUN)).score]).toEqual([1, 2]);
    expect(base.getSteps()).toEqual([{ name: 'preprocess', type: 'function' }]);
  });

  it('refuses a step twice or out of order, naming the step', () => {
    const loose = createScorer({ id: 'loose' }).generateScore(() => 1) as unknown as Record<
      string,
      (step: unknown) => unknown
    >;
    expect(() => loose['preprocess']?.(() => 1)).toThrow(/preprocess comes after generateScore/);
    expect(() => loose['generateScore']?.(() => 1)).toThrow(/each at most once/);
    expect(() => loose['generateReason']?.({ description: 'no prompt' })).toThrow(/createPrompt/);
    expect(() => loose['generateReason']?.(null)).toThrow(/createPrompt/);
  });

  it('shows its configuration to code that asks for it', () => {
    const model = scriptedModel([]);
    const judge = { model, instructions: 'Judge manners.' };
    const scorer = createScorer({ id: 'polite', description: 'Manners', type: 'agent', judge });
    const whole = { id: 'polite', name: 'polite', description: 'Manners', type: 'agent', judge };
    expect(scorer.config).toEqual(whole);
    expect(scorer.generateScore(() => 1).config.judge?.model).toBe(model);
    expect(createBiasScorer({ model }).config).toMatchObject({ id: 'bias-scorer', judge: { model } });
  });

  it('shows neither instructions nor the model object when it is printed', () => {
    const model = { ...scriptedModel([]), apiKey: 'sk-secret' };
    const scorer = createScorer({
      id: 'printed',
      judge: { model, instructions: 'private instructions' },
      options: { context: ['private context'] },
    }).generateScore({ description: 'asks', createPrompt: () => 'p' });

    const shown = `${JSON.stringify(scorer)}${inspect(scorer, { depth: 5 })}`;
    expect(shown).not.toMatch(/sk-secret|private/);
    expect(JSON.parse(JSON.stringify(scorer))).toEqual({
      id: 'printed',
      name: 'printed',
      description: '',
      judgeModel: 'scripted/scripted-1',
      steps: [{ name: 'generateScore', type: 'prompt', description: 'asks' }],
    });
  });

  it('takes its version from its code unless one is given, so that changed code starts a new series', () => {
    const one = createScorer({ id: 'v' }).generateScore(() => 1);
    const same = createScorer({ id: 'v' }).generateScore(() => 1);
    const other = createScorer({ id: 'v' }).generateScore(() => 0.5);
    expect(one.version).toBe(same.version);
    expect(one.version).not.toBe(other.version);
    expect(createScorer({ id: 'v', version: '7' }).generateScore(() => 1).version).toBe('7');
    expect([one.promptVersion, one.judgeModel]).toEqual(['', '']);
  });

  it('gives its options as plain JSON, functions by their source', () => {
    const pick = (value: string): string => value;
    const { options } = createScorer({
      id: 'o',
      options: { b: /x/g, a: pick, gone: undefined, s: new Set([1]) },
    });
    const loop: Record<string, unknown> = { name: 'loop' };
    loop['self'] = loop;
    expect(createScorer({ id: 'l', options: loop }).options).toEqual({ name: 'loop', self: '…' });
    expect(options).toEqual({ b: '/x/g', a: { function: String(pick) }, s: [1] });
  });
});

describe('a run', () => {
  it('names the band of its score', async () => {
    const labels = [{ label: 'low', below: 0.5 }, { label: 'high' }];
    const scorer = createScorer({ id: 'banded', labels }).generateScore(({ run }) => run.output as number);
    expect((await scorer.run({ output: 0.49 })).label).toBe('low');
    expect((await scorer.run({ output: 0.5 })).label).toBe('high');
  });

  it('carries verdicts and further scores that the scorer derives from its steps', async () => {
    const scorer = createScorer({
      id: 'detailed',
      details: ({ results }) => ({
        verdicts: [{ statement: String(results.preprocessStepResult), verdict: 'yes' }],
        scores: [{ name: 'other', score: 0.25 }],
      }),
    })
      .preprocess(() => 'claim')
      .generateScore(() => 1);
    const result = await scorer.run(RUN);
    expect(result.verdicts).toEqual([{ statement: 'claim', verdict: 'yes' }]);
    expect(result.scores).toEqual([{ name: 'other', score: 0.25 }]);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, '0.5', undefined, null])(
    'fails when the score is %s',
    async (value) => {
      const scorer = createScorer({ id: 'odd' }).generateScore(() => value as number);
      const error = await readFailure(scorer.run(RUN));
      expect(error).toBeInstanceOf(ScorerRunError);
      expect((error as ScorerRunError).failedStep).toBe('generateScore');
      expect((error as ScorerRunError).message).toMatch(/a score is a finite number/);
    },
  );

  it('keeps the score and reports the error when only the reason fails', async () => {
    const scorer = createScorer({ id: 'reasonless' })
      .generateScore(() => 0.5)
      .generateReason(() => {
        throw new AppError('no budget', { code: 'budget_exhausted', stage: 'judge', retryable: true });
      });
    const result = await scorer.run(RUN);
    expect(result.score).toBe(0.5);
    expect(result.reason).toBeUndefined();
    expect(result.reasonError).toEqual({ name: 'AppError', message: 'no budget', code: 'budget_exhausted' });
  });

  it('passes on whether trying again can help', async () => {
    const cause = new AppError('later', {
      code: 'judge_rate_limited',
      stage: 'judge',
      retryable: true,
      retryAfterMs: 1500,
    });
    const scorer = createScorer({ id: 'busy' }).generateScore(() => {
      throw cause;
    });
    const error = (await readFailure(scorer.run(RUN))) as ScorerRunError;
    expect(error).toMatchObject({ code: 'judge_rate_limited', retryable: true, retryAfterMs: 1500, cause });
    expect(error.details).toEqual({
      scorerId: 'busy',
      steps: 'generateScore',
      failedStep: 'generateScore',
      completedSteps: '',
    });
    expect(JSON.stringify(error)).toContain('MASTR_SCORER_FAILED_TO_RUN_WORKFLOW_FAILED');
  });

  it('ends when its time is up, even in a step that never returns', async () => {
    const scorer = createScorer({ id: 'stuck' }).generateScore(() => new Promise<number>(() => {}));
    const error = (await readFailure(scorer.run(RUN, { timeoutMs: 5 }))) as ScorerRunError;
    expect(error.message).toMatch(/"stuck" did not finish within 5 ms/);
    expect(error.code).toBe('scorer_failed');
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e12, '5'])(
    'refuses the time limit %s',
    async (timeoutMs) => {
      const scorer = createScorer({ id: 'bounded' }).generateScore(() => 1);
      const running = scorer.run(RUN, { timeoutMs: timeoutMs as number });
      await expect(running).rejects.toThrow(
        /timeoutMs of the run of scorer "bounded" is .*give milliseconds/,
      );
    },
  );

  it('ends when its caller calls it off, and starts no further step', async () => {
    const controller = new AbortController();
    let reached = false;
    const scorer = createScorer({ id: 'off' })
      .preprocess(() => controller.abort())
      .generateScore(() => {
        reached = true;
        return 1;
      });
    const error = (await readFailure(scorer.run(RUN, { abortSignal: controller.signal }))) as ScorerRunError;
    expect(error.code).toBe('cancelled');
    expect(reached).toBe(false);
  });

  it('hands the abort signal to the judge', async () => {
    const controller = new AbortController();
    const model = scriptedModel(() => {
      controller.abort();
      return { json: { score: 1 } };
    });
    const scorer = createScorer({ id: 'asked', judge: { model, instructions: 'i' } }).generateScore({
      description: 'asks',
      createPrompt: () => 'p',
    });
    const error = (await readFailure(scorer.run(RUN, { abortSignal: controller.signal }))) as ScorerRunError;
    expect(error.code).toBe('cancelled');
  });

  it('says which hook failed', async () => {
    const fail = (): never => {
      throw new Error('boom');
    };
    const unprepared = createScorer({ id: 'p', prepareRun: fail }).generateScore(() => 1);
    await expect(unprepared.run(RUN)).rejects.toThrow('Scorer "p" failed in prepareRun: boom');
    const undetailed = createScorer({ id: 'd', details: fail }).generateScore(() => 1);
    await expect(undetailed.run(RUN)).rejects.toMatchObject({
      code: 'scorer_failed',
      id: 'MASTR_SCORER_FAILED_TO_RUN_WORKFLOW_FAILED',
    });
  });

  it('refuses a call without a run', async () => {
    const scorer = createScorer({ id: 'empty' }).generateScore(() => 1);
    await expect(scorer.run(undefined as never)).rejects.toThrow(/needs an object with at least an output/);
  });

  it('skips what follows a step that cannot be scored', async () => {
    const scorer = createScorer({ id: 'unfit' })
      .preprocess(() => notScorable('no tools'))
      .generateScore(() => 1);
    const result = await scorer.run(RUN);
    expect(result.notScorable).toEqual({ step: 'preprocess', reason: 'no tools' });
    expect(result).not.toHaveProperty('score');
    expect(result).not.toHaveProperty('label');
  });
});

describe('a prompt step', () => {
  it('takes the score from calculateScore of a reply in the schema given', async () => {
    const model = scriptedModel([{ json: { hits: 3, of: 4 } }]);
    const scorer = createScorer({ id: 'calc', judge: { model, instructions: 'i' } }).generateScore({
      description: 'counts',
      outputSchema: z.object({ hits: z.number(), of: z.number() }),
      createPrompt: () => 'p',
      calculateScore: ({ analyzeStepResult: { hits, of } }) => hits / of,
    });
    expect((await scorer.run(RUN)).score).toBe(0.75);
  });

  it('takes the score of a reply with more fields than the score', async () => {
    const model = scriptedModel([{ json: { score: 0.9, verdict: 'good' } }]);
    const scorer = createScorer({ id: 'asked', judge: { model, instructions: 'i' } }).generateScore({
      description: 'asks',
      createPrompt: () => 'p',
    });
    expect((await scorer.run(RUN)).score).toBe(0.9);
  });

  it.each([{ verdict: 'good' }, { score: 'high' }, { score: null }, [0.9], 0.9])(
    'makes no score of %j',
    async (json) => {
      const model = scriptedModel(() => ({ json }));
      const scorer = createScorer({ id: 'asked', judge: { model, instructions: 'i' } }).generateScore({
        description: 'asks',
        createPrompt: () => 'p',
      });
      const error = (await readFailure(scorer.run(RUN))) as ScorerRunError;
      expect(error).toMatchObject({ code: 'judge_malformed', failedStep: 'generateScore' });
      expect(error.message).toContain('"score"');
    },
  );

  it('reads a bare JSON Schema and refuses replies of another shape', async () => {
    const outputSchema = {
      type: 'object',
      properties: { tags: { type: 'array', items: { type: 'string' } } },
      required: ['tags'],
    };
    const model = scriptedModel([{ json: { tags: 'no list' } }, { json: { tags: ['x'] } }]);
    const scorer = createScorer({ id: 'json-schema', judge: { model, instructions: 'i' } })
      .analyze({ description: 'tags', outputSchema, createPrompt: () => 'p' })
      .generateScore(() => 1);
    expect((await scorer.run(RUN)).analyzeStepResult).toEqual({ tags: ['x'] });
    expect(model.calls).toHaveLength(2);
  });

  /** A schema of another library: upper-cases a name, as such libraries may transform. */
  const standard = {
    version: 1 as const,
    vendor: 'other',
    validate: (value: unknown) =>
      typeof (value as { name?: unknown }).name === 'string'
        ? { value: { name: (value as { name: string }).name.toUpperCase() } }
        : { issues: [{ message: 'name is missing' }] },
  };
  const jsonSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };

  it.each([
    ['a Standard Schema', { '~standard': standard }, 'ADA'],
    [
      'a Standard Schema with a JSON form',
      { '~standard': { ...standard, jsonSchema: { input: () => jsonSchema } } },
      'ADA',
    ],
    ['a Standard Schema that can be called', Object.assign(() => 0, { '~standard': standard }), 'ADA'],
    ['a schema of the AI SDK', sdkSchema<{ name: string }>(jsonSchema as never), 'Ada'],
    ['a zod schema of the AI SDK', zodSchema(z.object({ name: z.string() })), 'Ada'],
  ])(
    'reads %s, asks again for a reply of another shape, and gives what it made of it',
    async (_kind, schema, name) => {
      const model = scriptedModel([{ json: { other: 1 } }, { json: { name: 'Ada' } }]);
      const scorer = createScorer({ id: 'other-schema', judge: { model, instructions: 'i' } })
        .analyze({
          description: 'a',
          outputSchema: schema as OutputSchema<{ name: string }>,
          createPrompt: () => 'p',
        })
        .generateScore(() => 1);
      expect((await scorer.run(RUN)).analyzeStepResult).toEqual({ name });
      expect(model.calls).toHaveLength(2);
    },
  );

  it('refuses a schema that cannot answer at once, with what to do', async () => {
    const outputSchema = { '~standard': { ...standard, validate: async () => ({ value: 1 }) } };
    const model = scriptedModel([{ json: { name: 'Ada' } }]);
    const scorer = createScorer({ id: 'slow-schema', judge: { model, instructions: 'i' } })
      .analyze({ description: 'a', outputSchema, createPrompt: () => 'p' })
      .generateScore(() => 1);
    await expect(scorer.run(RUN)).rejects.toThrow('checks asynchronously; give one that answers at once');
  });

  it('asks no judge when the answer is known', async () => {
    const model = scriptedModel([]);
    const scorer = createScorer({ id: 'known', judge: { model, instructions: 'i' } })
      .analyze({
        description: 'a',
        outputSchema: z.object({ n: z.number() }),
        createPrompt: () => 'p',
        withoutJudge: () => ({ n: 0 }),
      })
      .generateScore(({ results }) => results.analyzeStepResult.n);
    const result = await scorer.run(RUN);
    expect(result).toMatchObject({ score: 0, analyzeStepResult: { n: 0 } });
    expect(result.analyzePrompt).toBeUndefined();
    expect(model.calls).toEqual([]);
  });
});
