import { expect, test } from 'vitest';
import { findPrice } from '../../../../src/domain/money/model-prices.ts';

test('a dated snapshot has the price of its family, and an override wins', () => {
  expect(findPrice('openai/gpt-5-mini-2025-08-07')).toEqual(findPrice('openai/gpt-5-mini'));
  expect(findPrice('openai/gpt-5-mini', { 'openai/gpt-5-mini': { input: 9, output: 9 } })?.input).toBe(9);
  expect(findPrice('openai/toString')).toBeUndefined();
});
