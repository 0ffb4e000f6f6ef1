import { expect, it } from 'vitest';
import { rejectUnpricedBudgets } from '../../../../src/scoring/setup/scorer-kit.ts';
import { prepareRule } from '../../../../src/scoring/select/rule.ts';
import { CountingScorer, buildRule } from '../../../support/scoring/scoring-world.ts';

it('refuses a budget over the judge of a module that has no price, with the line to add', () => {
  const scorer = new CountingScorer('mine', undefined, 'openai/gpt-5,local/qwen3');
  const rule = prepareRule(buildRule([scorer], { budget: { perDay: 1 } }));
  const line = 'prices: { local/qwen3: { input: 0.25, output: 2 } }';

  expect(() => rejectUnpricedBudgets([rule], { prices: {}, budgets: {} })).toThrow(line);
  expect(() =>
    rejectUnpricedBudgets([rule], { prices: { 'local/qwen3': { input: 0, output: 0 } }, budgets: {} }),
  ).not.toThrow();
  expect(() =>
    rejectUnpricedBudgets([{ ...rule, budget: undefined }], { prices: {}, budgets: {} }),
  ).not.toThrow();
});
