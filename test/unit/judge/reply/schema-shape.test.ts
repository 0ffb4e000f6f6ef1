import { describe, expect, it } from 'vitest';
import { schemaShape } from '../../../../src/judge/reply/judge-schema.ts';

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
