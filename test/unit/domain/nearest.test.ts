import { describe, expect, it } from 'vitest';
import { nearest } from '../../../src/domain/nearest.ts';

describe('nearest', () => {
  it.each([
    ['receivres', 'receivers'],
    ['Reciever', 'receivers'],
    ['hallucinations', 'hallucination'],
    ['xyz', undefined],
  ])('finds what %s meant', (word, expected) => {
    expect(nearest(word, ['receivers', 'rules', 'hallucination'])).toBe(expected);
  });
});
