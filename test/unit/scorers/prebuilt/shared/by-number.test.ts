import { describe, expect, it } from 'vitest';
import { byNumber } from '../../../../../src/scorers/shared/judged.ts';

describe('things by number', () => {
  it('stand under their numbers, from 1, in their order', () => {
    expect(JSON.stringify(byNumber(['b', 'a']))).toBe('{"1":"b","2":"a"}');
    expect(byNumber([])).toEqual({});
  });

  it('are counted from 0 where that is asked for', () => {
    expect(byNumber(['b', 'a'], 0)).toEqual({ 0: 'b', 1: 'a' });
  });
});
