import { inspect } from 'node:util';
import { jsonSchema as sdkSchema, zodSchema } from 'ai';
import { describe, expect, it, expectTypeOf } from 'vitest';
import { z } from 'zod';
import { AppError } from '../../../src/domain/errors.ts';
import {
  createScorer,
  notScorable,
  ScorerRunError,
  type OutputSchema,
  type ScorerRunInput,
  defineScorer,
  type Scorer,
} from '../../../src/scorers/evals/index.ts';
import { createBiasScorer } from '../../../src/scorers/prebuilt/index.ts';
import { scriptedModel } from '../../support/fakes/scripted-model.ts';
import type { AgentOutput } from '../../../src/domain/trace/messages.ts';

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

/** A scorer whose analysis is the judge's reply; the last reply is repeated. */
function analysing(outputSchema: unknown, ...replies: object[]) {
  const model = scriptedModel(() => ({ json: replies.length > 1 ? replies.shift() : replies[0] }));
  const scorer = createScorer({ id: 'tags', judge: { model, instructions: 'i' } })
    .analyze({
      description: 'tags',
      outputSchema: outputSchema as OutputSchema<unknown>,
      createPrompt: () => 'p',
    })
    .generateScore(() => 1);
  return { model, run: () => scorer.run(RUN) };
}

/** A scorer whose judge gives its score in this reply. */
function asking(reply: unknown) {
  const model = scriptedModel(() => ({ json: reply }));
  return createScorer({ id: 'asked', judge: { model, instructions: 'i' } }).generateScore({
    description: 'asks',
    createPrompt: () => 'p',
  });
}

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
    expect((await asking({ score: 0.9, verdict: 'good' }).run(RUN)).score).toBe(0.9);
  });

  it.each([{ verdict: 'good' }, { score: 'high' }, { score: null }, [0.9], 0.9])(
    'makes no score of %j',
    async (json) => {
      const error = (await readFailure(asking(json).run(RUN))) as ScorerRunError;
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
    const { model, run } = analysing(outputSchema, { tags: 'no list' }, { tags: ['x'] });
    expect((await run()).analyzeStepResult).toEqual({ tags: ['x'] });
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
      const { model, run } = analysing(schema, { other: 1 }, { name: 'Ada' });
      expect((await run()).analyzeStepResult).toEqual({ name });
      expect(model.calls).toHaveLength(2);
    },
  );

  it('refuses a schema that cannot answer at once, with what to do', async () => {
    const outputSchema = { '~standard': { ...standard, validate: async () => ({ value: 1 }) } };
    await expect(analysing(outputSchema, { name: 'Ada' }).run()).rejects.toThrow(
      'checks asynchronously; give one that answers at once',
    );
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

const EMPTY_RUN = { output: [], input: undefined };

describe('defineScorer', () => {
  it('makes a scorer of a function, whether it answers at once or later', async () => {
    const atOnce = defineScorer({ id: 'a', run: () => ({ score: 0.5, reason: 'half' }) });
    const later = defineScorer({ id: 'b', run: async ({ output }) => ({ score: output.length }) });

    expect(await atOnce.run(EMPTY_RUN)).toEqual({ score: 0.5, reason: 'half' });
    expect(await later.run(EMPTY_RUN)).toEqual({ score: 0 });
    expectTypeOf(atOnce).toExtend<Scorer>();
  });

  it('reports a run that cannot be scored', async () => {
    const scorer = defineScorer({ id: 'a', run: () => notScorable('no answer') });
    expect(await scorer.run(EMPTY_RUN)).toEqual({
      notScorable: { step: 'generateScore', reason: 'no answer' },
    });
  });

  it('has a version that changes with its code, unless it names one', () => {
    const versions = [
      defineScorer({ id: 'a', run: () => ({ score: 0 }) }),
      defineScorer({ id: 'a', run: () => ({ score: 1 }) }),
      defineScorer({ id: 'a', version: '3', run: () => ({ score: 1 }) }),
    ].map(({ version }) => version);
    expect(new Set(versions).size).toBe(3);
    expect(versions[2]).toBe('3');
  });

  it('refuses a scorer without an id', () => {
    expect(() => defineScorer({ id: '', run: () => ({ score: 1 }) })).toThrow('needs an id and run()');
  });

  it('types what a run has, so that a misspelt member of it or of the scorer is an error', () => {
    const typed = defineScorer({
      id: 'a',
      run(given) {
        expectTypeOf(given.output).toEqualTypeOf<AgentOutput>();
        expectTypeOf(given.context).toEqualTypeOf<readonly string[]>();
        // @ts-expect-error: `output` is misspelt
        return { score: given.outptu === undefined ? 0 : 1 };
      },
    });
    defineScorer({
      id: 'a',
      // @ts-expect-error: `higherIsBetter` is misspelt
      higherIsBeter: true,
      run: () => ({ score: 1 }),
    });
    // @ts-expect-error: a result has a score
    defineScorer({ id: 'a', run: () => ({ value: 1 }) });
    expect(typed.id).toBe('a');
  });
});

const TAGS = { type: 'array', items: { type: 'string' } };
const closed = readObject({ tags: TAGS });
const strict = z.strictObject({ tags: z.array(z.string()) });

function readObject(properties: Record<string, unknown>): Record<string, unknown> {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

/** A schema of a library that follows standardschema.dev, over a zod schema. */
function readStandard(schema: z.ZodType): OutputSchema<unknown> {
  const validate = (value: unknown) => {
    const { data, error } = schema.safeParse(value);
    return error === undefined ? { value: data } : { issues: error.issues };
  };
  const input = () => z.toJSONSchema(schema) as Record<string, unknown>;
  return { '~standard': { version: 1, vendor: 'test', validate, jsonSchema: { input } } };
}

describe('a reply with members that the schema does not name', () => {
  it.each([
    ['a zod schema', z.object({ tags: z.array(z.string()) })],
    ['a strict zod schema', strict],
    ['a closed JSON Schema', closed],
    ['an open JSON Schema', { ...closed, additionalProperties: undefined }],
    ['a schema of the AI SDK', sdkSchema(closed as never)],
    ['a standard schema', readStandard(strict)],
  ])('is used without them: %s', async (_what, schema) => {
    const { model, run } = analysing(schema, { tags: ['x'], confidence: 0.9 });
    expect((await run()).analyzeStepResult).toEqual({ tags: ['x'] });
    expect(model.calls).toHaveLength(1);
  });

  const entry = readObject({ n: { type: 'integer' } });
  it.each([
    ['in lists', readObject({ list: { type: 'array', items: entry } }), { list: [{ n: 1 }] }],
    [
      'behind a reference',
      { ...readObject({ one: { $ref: '#/$defs/e' } }), $defs: { e: entry } },
      { one: { n: 1 } },
    ],
    ['of one shape of several', readObject({ one: { anyOf: [entry, { type: 'null' }] } }), { one: { n: 1 } }],
    [
      'of several shapes at once',
      { allOf: [{ properties: { a: {} } }, { properties: { b: {} } }] },
      { a: 1, b: 2 },
    ],
  ])('is used without those %s', async (_where, schema, honest) => {
    const text = JSON.stringify(honest).replaceAll('}', ',"note":"sure"}');
    const { run } = analysing(schema, JSON.parse(text) as object);
    expect((await run()).analyzeStepResult).toEqual(honest);
  });

  const named = { type: 'object', properties: { tags: {} } };
  it.each([
    ['a record', { type: 'object', additionalProperties: { type: 'number' } }],
    ['an object that says so', { ...named, additionalProperties: true }],
    ['members by a pattern', { ...named, patternProperties: { '^x': {} } }],
    ['anything', {}],
    ['a loose zod schema', z.looseObject({ tags: z.any() })],
  ])('keeps them where the schema takes %s', async (_what, schema) => {
    const reply = { tags: 1, x: 2 };
    expect((await analysing(schema, reply).run()).analyzeStepResult).toEqual(reply);
  });

  it('is refused if a requested field is missing', async () => {
    const error = await readFailure(analysing(closed, { tag: ['x'], confidence: 0.9 }).run());
    expect(error).toBeInstanceOf(ScorerRunError);
    expect(error).toMatchObject({ code: 'judge_malformed', failedStep: 'analyze' });
    expect((error as Error).message).toContain('tags');
    expect((error as Error).message).not.toContain('confidence');
  });
});
