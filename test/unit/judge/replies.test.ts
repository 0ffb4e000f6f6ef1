import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { resolveSchema, schemaShape, type SchemaVerdict } from '../../../src/judge/reply/judge-schema.ts';
import { readJsonReply } from '../../../src/judge/reply/read-reply.ts';

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

function withVerdict(value: unknown): SchemaVerdict<unknown> {
  return typeof value === 'object' && value !== null && 'verdict' in value
    ? { ok: true, value }
    : { ok: false, fault: 'no verdict' };
}

describe('an answer is read', () => {
  test.each([
    ['as it is', '{"verdict":"yes"}'],
    ['from a code fence', '```json\n{"verdict":"yes"}\n```'],
    ['from a code fence on one line', '```{"verdict":"yes"}```'],
    ['from a code fence without its end', '```json\n{"verdict":"yes"}'],
    ['after a lead-in line', 'Here is my verdict:\n{"verdict":"yes"}'],
    ['from a code fence after a lead-in line', 'Sure, here you are!\n\n```\n{"verdict":"yes"}\n```\n'],
    ['after thoughts with drafts in them', '<think>{"verdict":"no"}</think>{"verdict":"yes"}'],
    ['after thoughts without a begin', 'Maybe {"verdict":"no"}. No.\n</think>\n\n{"verdict":"yes"}'],
    [
      'after thoughts that quote their end',
      '<think>It says </think>{"verdict":"no"}!</think>{"verdict":"yes"}',
    ],
    ['after <thinking>', '<thinking>no</thinking>\n```json\n{"verdict":"yes"}\n```'],
    ['after <thought>', '<thought>\nno\n</thought>\n{"verdict":"yes"}'],
    ['after <reasoning>', '<reasoning>no</reasoning>{"verdict":"yes"}'],
    ['after [THINK]', '[THINK]{"verdict":"no"}[/THINK]{"verdict":"yes"}'],
    [
      'from the final channel',
      '<|channel|>analysis<|message|>{"verdict":"no"}<|end|><|start|>assistant<|channel|>final<|message|>{"verdict":"yes"}<|return|>',
    ],
    [
      'from a final channel with a constraint, after a cut begin',
      'no.<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>{"verdict":"yes"}',
    ],
    ['from a final channel without its marks', 'analysisMaybe no.assistantfinal{"verdict":"yes"}'],
    ['with a comma before the end', '{"verdict":"yes",}'],
    ['as a literal of Python', "{'verdict': 'yes'}"],
  ])('%s', (_how, reply) => {
    expect(readJsonReply(reply, withVerdict, 'Judge.')).toEqual({ ok: true, value: { verdict: 'yes' } });
  });

  test('with marks of thoughts, brackets and quotes in its strings', () => {
    const value = { verdict: 'a } "quoted" ] { </think>{"verdict":"no"}' };

    expect(readJsonReply(JSON.stringify(value), withVerdict)).toEqual({ ok: true, value });
  });
});

describe('no answer is read', () => {
  const quotation = '{"verdict": "yes", "why": "a\\nb"}';
  const material = `The data:\n${JSON.stringify({ answer: `I say {"verdict":"yes","why":"a\\nb"}` })}`;

  test.each([
    ['from nothing', '  ', 'it is empty'],
    ['from thoughts alone', '<think>{"verdict":"yes"}</think>', 'it holds thoughts and no answer'],
    ['from thoughts without an end', '<think>\n{"verdict":"yes"}', 'it holds thoughts and no answer'],
    [
      'from a channel of thoughts alone',
      '<|channel|>analysis<|message|>{"verdict":"yes"}',
      'it holds thoughts and no answer',
    ],
    ['from a value of another shape', '[1,2]', 'no verdict'],
    ...[
      '{"verdict":"yes"',
      '{"verdict":"yes","list":[1,',
      "{'verdict': 'yes'",
      '{"verdict":"yes"} {"verdict":"no"}',
      '{"verdict":"yes"}\n{"verdict":"yes"}',
      'I looked. {"verdict":"yes"}',
      'Here you are: {"verdict":"yes"}. Anything else?',
      '{"verdict":"yes"}\nThat is what the answer says.',
      'The text:\n{"verdict":"yes"}\nI cannot judge it.',
      'Two lines.\nBefore it.\n{"verdict":"yes"}',
      'I cannot judge it; it holds the text\n{"verdict":"yes"}',
      'My first draft:\n{"verdict":"yes"}',
      '```json\n{"verdict":"yes"}\n```\n```json\n{"verdict":"no"}\n```',
      'It says:\n```json\n{"verdict":"yes"}\n```\nwhich is no verdict.',
      `The answer ends with:\n${quotation}`,
      `La réponse contient :\n\`\`\`json\n${quotation}\n\`\`\``,
      "{'verdict': 'it's fine'}",
      "{'verdict': 'no', 'verdict': 'yes'}",
    ].map((reply) => [`from ${reply}`, reply, 'it is not one complete JSON value that stands alone']),
  ])('%s', (_how, reply = '', fault = '') => {
    expect(readJsonReply(reply, withVerdict, material)).toEqual({ ok: false, fault });
  });

  test.each([
    ['open brackets', '['.repeat(1_000_000)],
    ['blank lines', `{${'\n'.repeat(1_000_000)}`],
    ['an open string', `{"verdict":"${'\\n'.repeat(1_000_000)}`],
    ['marks of a channel', '<|channel|>final '.repeat(60_000)],
  ])('from a long row of %s, in little time', (_what, reply) => {
    expect(readJsonReply(reply, withVerdict).ok).toBe(false);
  });
});

describe('a reply as models write JSON', () => {
  test.each([
    ['{"verdict":"a\nb\tc"}', { verdict: 'a\nb\tc' }],
    ['{"verdict":[1,2,],}', { verdict: [1, 2] }],
    ["{'verdict': True, 'n': None, 'f': False}", { verdict: true, n: null, f: false }],
    [`{'verdict': "it's", 'n': -1.5e2}`, { verdict: "it's", n: -150 }],
    ["{'verdict': 'it\\'s \\x41\\u0042'}", { verdict: "it's AB" }],
    ['{"verdict":True}', { verdict: true }],
  ])('is read: %j', (reply, value) => {
    expect(readJsonReply(reply, withVerdict)).toEqual({ ok: true, value });
  });
});

const object = (properties: object) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

describe('the short form of a JSON Schema', () => {
  it('names members, kinds and words', () => {
    const entry = object({
      n: { type: 'integer' },
      verdict: { type: 'string', enum: ['yes', 'no'] },
      unit: { type: ['string', 'null'] },
    });
    expect(schemaShape(object({ list: { type: 'array', items: entry }, fine: { type: 'boolean' } }))).toBe(
      '{"list":[{"n":integer,"verdict":"yes"|"no","unit":string|null}],"fine":boolean}',
    );
  });

  it.each([
    ['a member that may be missing', { type: 'object', properties: { a: { type: 'string' } }, required: [] }],
    ['a limit', object({ a: { type: 'number', maximum: 1 } })],
    ['a description', object({ a: { type: 'string', description: 'what it is' } })],
    ['a choice of schemas', { anyOf: [{ type: 'string' }] }],
    ['a list of anything', { type: 'array' }],
    ['nothing', {}],
  ])('does not exist for %s', (_what, schema) => {
    expect(schemaShape(schema)).toBeUndefined();
  });
});
