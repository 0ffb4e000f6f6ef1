import { describe, expect, it, test } from 'vitest';
import { findCost, findPrice } from '../../../../src/domain/money/model-prices.ts';

test('a dated snapshot has the price of its family, and an override wins', () => {
  expect(findPrice('openai/gpt-5-mini-2025-08-07')).toEqual(findPrice('openai/gpt-5-mini'));
  expect(findPrice('openai/gpt-5-mini', { 'openai/gpt-5-mini': { input: 9, output: 9 } })?.input).toBe(9);
  expect(findPrice('openai/toString')).toBeUndefined();
});

describe('the cost of cached tokens', () => {
  const usage = { inputTokens: 100, outputTokens: 0, cachedInputTokens: 60, cacheWriteTokens: 30 };
  it.each([
    [
      'anthropic/claude-sonnet-4-5-20250929',
      { input: 2, output: 0, cachedInput: 0.2 },
      10 * 2 + 60 * 0.2 + 30 * 2.5,
    ],
    ['anthropic/claude-haiku', { input: 2, output: 0 }, 10 * 2 + 60 * 0.2 + 30 * 2.5],
    ['vendor/m', { input: 2, output: 0 }, 100 * 2],
    ['vendor/m', { input: 2, output: 0, cacheWrite: 3 }, 70 * 2 + 30 * 3],
  ])('%s with the price %j', (model, price, expected) => {
    const name = model.replace('-20250929', '');
    expect(findCost(usage, findPrice(model, { [name]: price }))).toBeCloseTo(expected / 1e6, 12);
  });
});
