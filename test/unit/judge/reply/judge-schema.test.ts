import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { resolveSchema } from '../../../../src/judge/reply/judge-schema.ts';

describe('a Zod schema', () => {
  test('whose members are all required is strict', async () => {
    const schema = await resolveSchema(z.object({ list: z.array(z.object({ a: z.string() })) }));

    expect(schema.strict).toBe(true);
    expect(schema.jsonSchema).toMatchObject({
      additionalProperties: false,
      properties: { list: { items: { additionalProperties: false } } },
    });
  });

  test('with an optional member is not strict', async () => {
    const schema = await resolveSchema(z.object({ a: z.string().optional() }));

    expect(schema.strict).toBe(false);
  });

  test('fills its defaults', async () => {
    const schema = await resolveSchema(z.object({ a: z.array(z.string()).default([]) }));

    expect(schema.validate({})).toEqual({ ok: true, value: { a: [] } });
  });

  test('names the place of a fault', async () => {
    const schema = await resolveSchema(z.object({ list: z.array(z.object({ a: z.string() })) }));

    expect(schema.validate({ list: [{ a: 1 }] })).toMatchObject({
      ok: false,
      fault: expect.stringContaining('list.0.a: ') as string,
    });
  });
});

describe('a JSON Schema', () => {
  const jsonSchema = {
    type: 'object',
    properties: { verdict: { enum: ['yes', 'no'] } },
    required: ['verdict'],
  };

  test('checks the answer and drops unknown members', async () => {
    const schema = await resolveSchema({ jsonSchema });

    expect(schema.validate({ verdict: 'yes', more: 1 })).toEqual({
      ok: true,
      value: { verdict: 'yes' },
    });
    expect(schema.validate({ verdict: 'maybe' }).ok).toBe(false);
    expect(schema.validate({}).ok).toBe(false);
  });

  test('may bring a check of its own', async () => {
    const schema = await resolveSchema({
      jsonSchema,
      validate: () => ({ ok: false as const, fault: 'never good enough' }),
    });

    expect(schema.validate({ verdict: 'yes' })).toEqual({ ok: false, fault: 'never good enough' });
  });

  test('that allows other members stays open and is not strict', async () => {
    const schema = await resolveSchema({ jsonSchema: { ...jsonSchema, additionalProperties: true } });

    expect(schema.strict).toBe(false);
    expect(schema.jsonSchema).toMatchObject({ additionalProperties: true });
  });
});

describe('a text where the schema wants a number or a boolean', () => {
  const wanted = z.object({
    n: z.int(),
    share: z.number().nullable(),
    list: z.array(z.object({ ok: z.boolean() })),
    note: z.union([z.string(), z.boolean()]),
  });
  const said = { n: '1', share: '-0.5', list: [{ ok: 'True' }, { ok: 'false' }], note: 'true' };
  const meant = { n: 1, share: -0.5, list: [{ ok: true }, { ok: false }], note: 'true' };

  test('is read as one', async () => {
    const { validate } = await resolveSchema(wanted);

    expect(validate(said)).toEqual({ ok: true, value: meant });
  });

  test.each([{ n: '1.5' }, { n: 'one' }, { n: '' }, { list: [{ ok: 'partly' }] }, { list: [{ ok: '1' }] }])(
    'stays malformed when it is neither: %j',
    async (change) => {
      const { validate } = await resolveSchema(wanted);

      expect(validate({ ...meant, ...change }).ok).toBe(false);
    },
  );
});
