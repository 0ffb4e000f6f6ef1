import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkValue } from '../../../src/config/faults/schema-issues.ts';
import { InvalidInputError } from '../../../src/domain/errors.ts';

const schema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  share: z.number().gt(0).lt(1).optional(),
  name: z.string().min(2).max(4).optional(),
  tags: z.array(z.string()).min(1).optional(),
  rule: z.union([z.string().min(1), z.record(z.string(), z.unknown())]).optional(),
  at: z.iso.datetime({ error: 'write a date and time' }).optional(),
});

describe('a value from outside', () => {
  it('comes back with its defaults', () => {
    expect(checkValue(schema, { name: 'abc' })).toEqual({ limit: 100, name: 'abc' });
  });

  it.each([
    [{ limit: '0' }, 'limit: must be at least 1, not 0'],
    [{ limit: 1_001 }, 'limit: must be at most 1000, not 1001'],
    [{ limit: '1.5' }, 'limit: must be a whole number, not 1.5'],
    [{ limit: 'many' }, 'limit: must be a number'],
    [{ share: 0 }, 'share: must be more than 0, not 0'],
    [{ share: 1 }, 'share: must be less than 1, not 1'],
    [{ name: 7 }, 'name: must be a text, not 7; write "7"'],
    [{ name: 'a' }, 'name: must have at least 2 characters'],
    [{ name: 'abcde' }, 'name: must have at most 4 characters'],
    [{ tags: [] }, 'tags: must have at least 1 entry'],
    [{ tags: ['a', 1] }, 'tags[1]: must be a text, not 1; write "1"'],
    [{ rule: [] }, 'rule: must be a text or a group of keys, not a list'],
    [{ at: 'noon' }, 'at: write a date and time'],
    [{ limitt: 5 }, 'limitt: unknown key; did you mean limit?'],
    [{ limit: 0, share: 2 }, 'limit: must be at least 1, not 0; share: must be less than 1, not 2'],
    ['text', 'must be a group of keys, not "text"; its keys are limit, share, name, tags, rule, at'],
  ])('that cannot be used is refused in words that say what to give: %j', (value, words) => {
    expect(() => checkValue(schema, value)).toThrow(
      expect.objectContaining({ name: new InvalidInputError('').name, message: words }),
    );
  });

  it('is refused where nothing is taken', () => {
    expect(() => checkValue(z.strictObject({}), { x: '1' })).toThrow(
      'x: unknown key; none is taken here: remove it',
    );
  });

  it('names each fault with its path', () => {
    expect(() => checkValue(schema, { limit: 0, tags: ['a', 1] })).toThrow(
      expect.objectContaining({
        details: {
          errors: [
            { path: 'limit', message: 'must be at least 1, not 0' },
            { path: 'tags[1]', message: 'must be a text, not 1; write "1"' },
          ],
        },
      }),
    );
  });
});
