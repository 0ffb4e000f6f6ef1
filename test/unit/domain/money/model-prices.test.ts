import { describe, expect, it, test } from 'vitest';
import { findCost, findPrice, priceBatches } from '../../../../src/domain/money/model-prices.ts';

test('a dated snapshot has the price of its family, and an override wins', () => {
  expect(findPrice('openai/gpt-5-mini-2025-08-07')).toEqual(findPrice('openai/gpt-5-mini'));
  expect(findPrice('openai/gpt-5-mini', { 'openai/gpt-5-mini': { input: 9, output: 9 } })?.input).toBe(9);
  expect(findPrice('openai/toString')).toBeUndefined();
});

test('a judge pays for tokens that it writes to a cache and thinks at their own prices', () => {
  const usage = { inputTokens: 100, outputTokens: 50, cacheCreationInputTokens: 40, reasoningTokens: 30 };
  const cost = findCost(usage, { input: 2, cacheWrite: 3, output: 4, reasoning: 1 });
  expect(cost).toBeCloseTo((60 * 2 + 40 * 3 + 20 * 4 + 30) / 1e6, 12);
  expect(findCost(usage, { input: 2, output: 4 })).toBeCloseTo((100 * 2 + 50 * 4) / 1e6, 12);
});

test('a batch costs half, at every kind of price', () => {
  const table = { 'work/m': { input: 2, output: 4, cachedInput: 1 } };
  const batched = priceBatches(['work/m', 'work/unknown', 'openai/gpt-5-mini'], table);
  expect(batched['work/m']).toEqual({ input: 1, output: 2, cachedInput: 0.5 });
  expect(findPrice('openai/gpt-5-mini', batched)?.output).toBe(1);
  expect(findPrice('work/unknown', batched)).toBeUndefined();
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
