import { expect, it } from 'vitest';
import { byNumber } from '../../../../../src/scorers/prebuilt/shared/by-number.ts';

it('texts stand under their numbers, from 1, in their order', () => {
  expect(JSON.stringify(byNumber(['b', 'a']))).toBe('{"1":"b","2":"a"}');
  expect(byNumber([])).toEqual({});
});
