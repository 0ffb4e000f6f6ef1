import { expect, it } from 'vitest';
import { buildFinding } from '../../../../../src/scorers/shared/judged.ts';

it('a finding has a reason only where the judge gave one', () => {
  expect(buildFinding('It rains.', 'yes', 'a forecast')).toEqual({
    statement: 'It rains.',
    verdict: 'yes',
    reason: 'a forecast',
  });
  expect(buildFinding('It rains.', 'yes', '')).toStrictEqual({ statement: 'It rains.', verdict: 'yes' });
});
