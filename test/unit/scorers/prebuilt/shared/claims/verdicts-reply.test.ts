import { describe, expect, it } from 'vitest';
import { verdictsSchema } from '../../../../../../src/scorers/shared/statements.ts';

const schema = verdictsSchema({
  statements: ['one', 'two', 'three'],
  allowed: ['yes', 'no'],
  repeatStatements: true,
});

function entry(n: unknown, verdict: unknown = 'yes'): Record<string, unknown> {
  return { n, verdict, reason: 'r', quote: '' };
}

function findFault(verdicts: unknown): string | undefined {
  const read = schema.validate?.({ verdicts });
  return read?.ok === false ? read.fault : undefined;
}

describe('a reply with verdicts', () => {
  it('is put into the order of the statements by number', () => {
    const read = schema.validate?.({ verdicts: [entry(3, 'no'), entry('1', ' YES '), entry(2)] });
    expect(read).toEqual({
      ok: true,
      value: {
        verdicts: [
          { statement: 'one', verdict: 'yes', reason: 'r' },
          { statement: 'two', verdict: 'yes', reason: 'r' },
          { statement: 'three', verdict: 'no', reason: 'r' },
        ],
      },
    });
  });

  it('is read by position when it has no numbers and the right length', () => {
    const bare = { verdict: 'no', reason: 'r', quote: 'q' };
    expect(schema.validate?.({ verdicts: [bare, bare, bare] })).toMatchObject({ ok: true });
    expect(findFault([bare, bare])).toBe('2 verdicts for 3 statements');
  });

  it('keeps fields that were not asked for, as the reference does', () => {
    const verdicts = [{ ...entry(1), confidence: 0.2 }, entry(2), entry(3)];
    const bare = schema.validate?.({ verdicts: [entry(1), entry(2), entry(3)] }) as { value: object };
    const found = schema.validate?.({ verdicts, score: 1, notes: null });
    expect(found).toMatchObject(bare);
    expect(found).toMatchObject({
      value: { score: 1, notes: null, verdicts: [{ confidence: 0.2 }, {}, {}] },
    });
  });

  it('may repeat what each verdict is about', () => {
    const verdicts = [1, 2, 3].map((n) => ({ ...entry(n), statement: 'in its own words' }));
    expect(schema.validate?.({ verdicts })).toMatchObject({
      ok: true,
      value: { verdicts: [{ statement: 'one' }, { statement: 'two' }, { statement: 'three' }] },
    });
  });

  it.each([
    ['a missing statement', [entry(1), entry(2)], 'no verdict on 3'],
    [
      'a statement judged twice',
      [entry(1), entry(2), entry(2), entry(3)],
      'statement 2 has more than one verdict',
    ],
    [
      'a number out of range',
      [entry(0), entry(1), entry(2)],
      '0 is not the number of a statement; they go from 1 to 3',
    ],
    ['a number on some only', [entry(1), entry(undefined), entry(3)], /nothing is not the number/],
    ['a number that is no number', [entry('x'), entry(2), entry(3)], /"x" is not the number/],
    [
      'an unknown verdict',
      [entry(1, 'maybe'), entry(2), entry(3)],
      '"verdicts[n=1].verdict" is "maybe"; use yes, no',
    ],
    ['no list', 'all fine', /list of objects/],
    ['a list of something else', [1, 2, 3], /list of objects/],
    ['a verdict more', [entry(1), entry(2), entry(3), entry(4)], /4 is not the number of a statement/],
  ])('is malformed with %s', (_what, verdicts, fault) => {
    expect(findFault(verdicts)).toMatch(fault);
  });
});
