import { jsonSchema as sdkSchema } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createScorer, ScorerRunError, type OutputSchema } from '../../../../src/scorers/evals/index.ts';
import { scriptedModel } from '../../../support/fakes/scripted-model.ts';

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

/** A scorer whose analysis is the judge's reply. */
function analysing(outputSchema: unknown, reply: object) {
  const model = scriptedModel(() => ({ json: reply }));
  const scorer = createScorer({ id: 'tags', judge: { model, instructions: 'i' } })
    .analyze({
      description: 'tags',
      outputSchema: outputSchema as OutputSchema<unknown>,
      createPrompt: () => 'p',
    })
    .generateScore(() => 1);
  return { model, run: () => scorer.run({ input: 'q', output: 'a' }) };
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
    const error = await analysing(closed, { tag: ['x'], confidence: 0.9 })
      .run()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ScorerRunError);
    expect(error).toMatchObject({ code: 'judge_malformed', failedStep: 'analyze' });
    expect((error as Error).message).toContain('tags');
    expect((error as Error).message).not.toContain('confidence');
  });
});
