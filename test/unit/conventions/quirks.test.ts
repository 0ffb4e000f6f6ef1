import { describe, expect, it } from 'vitest';
import { dialects } from '../../support/recordings/quirks/dialects.ts';
import { encoding } from '../../support/recordings/quirks/encoding.ts';
import { identity } from '../../support/recordings/quirks/identity.ts';
import { loss } from '../../support/recordings/quirks/loss.ts';
import { semantics } from '../../support/recordings/quirks/semantics.ts';
import { structure } from '../../support/recordings/quirks/structure.ts';

/** Quirks are numbered from 1 to this. */
const LAST = 61;

const groups = { encoding, dialects, loss, structure, identity, semantics };

describe.each(Object.entries(groups))('quirks of %s', (_group, quirks) => {
  it.each(quirks)('%s', (_quirk, actual, expected) => {
    expect(actual()).toEqual(expected);
  });
});

it('has at least one test for every number', () => {
  const named = Object.values(groups)
    .flat()
    .map(([quirk]) => Number(/^Q(\d+) /.exec(quirk)?.[1]));
  const numbers = Array.from({ length: LAST }, (_, index) => index + 1);
  expect(numbers.filter((number) => !named.includes(number))).toEqual([]);
});
