import { describe, expect, it } from 'vitest';
import { cutText } from '../../../src/domain/cut-text.ts';

describe('cutText', () => {
  it('leaves a text that fits as it is', () => {
    expect(cutText('four', 4)).toBe('four');
  });

  it('ends a cut text with an ellipsis, within the limit', () => {
    expect(cutText('fives', 4)).toBe('fiv…');
  });

  it('leaves no half of a surrogate pair', () => {
    expect(cutText('ab😀cd', 4)).toBe('ab\uFFFD…');
  });
});
