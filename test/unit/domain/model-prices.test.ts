import { expect, test } from 'vitest';
import { priceOf } from '../../../src/domain/model-prices.ts';

test('a dated snapshot has the price of its family, and an override wins', () => {
  expect(priceOf('openai/gpt-5-mini-2025-08-07')).toEqual(priceOf('openai/gpt-5-mini'));
  expect(priceOf('openai/gpt-5-mini', { 'openai/gpt-5-mini': { input: 9, output: 9 } })?.input).toBe(9);
  expect(priceOf('openai/toString')).toBeUndefined();
});
