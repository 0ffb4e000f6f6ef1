import type { ModelPrice } from '../domain/money/model-prices.ts';
import type { JudgeUsage } from './judge-execution.ts';

const MILLION = 1_000_000;

type PricedUsage = Partial<Pick<JudgeUsage, 'inputTokens' | 'outputTokens' | 'cachedInputTokens'>> & {
  readonly cacheWriteTokens?: number | undefined;
};

/** Computes the cost of a usage in US dollars; undefined when the price or one of the two counts is unknown. */
export function findCost(usage: PricedUsage | undefined, price: ModelPrice | undefined): number | undefined {
  if (usage?.inputTokens === undefined || usage.outputTokens === undefined || price === undefined) {
    return undefined;
  }
  const cached = Math.min(usage.cachedInputTokens ?? 0, usage.inputTokens);
  const written = Math.min(usage.cacheWriteTokens ?? 0, usage.inputTokens - cached);
  const input =
    (usage.inputTokens - cached - written) * price.input +
    cached * (price.cachedInput ?? price.input) +
    written * (price.cacheWrite ?? price.input);
  return (input + usage.outputTokens * price.output) / MILLION;
}
