import type { AgentRun } from '../../domain/trace/agent-run.ts';
import { BY_SHAPE } from '../../domain/trace/convention-table.ts';
import { findPriceByModel, isSamePrice, type PriceTable, findCost } from '../../domain/money/model-prices.ts';

/** Returns the tokens of a run and of the agents below it; null when its emitter does not count them. */
export function countTokens({ usage }: Pick<AgentRun, 'usage'>): number | null {
  const { totalTokens, inputTokens, outputTokens } = usage;
  const isCounted = inputTokens !== null || outputTokens !== null;
  return totalTokens ?? (isCounted ? (inputTokens ?? 0) + (outputTokens ?? 0) : null);
}

/** Computes the cost of a run by the price of its model; null when models with different prices answered. */
export function computeRunCost(run: AgentRun, prices: PriceTable): number | null {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = run.usage;
  const [price, ...others] = new Set(listModels(run).map((model) => findPriceByModel(model, prices)));
  if (inputTokens === null || outputTokens === null || others.some((other) => !isSamePrice(other, price))) {
    return null;
  }
  const cached = {
    cachedInputTokens: cachedInputTokens ?? 0,
    cacheWriteTokens: cacheWriteTokens ?? 0,
  };
  return findCost({ inputTokens, outputTokens, ...cached }, price) ?? null;
}

/** Returns true for a run whose spans, or some of them, were read by the form of their values. */
export function isReadByShape({ conventions }: AgentRun): boolean {
  return conventions.includes(BY_SHAPE);
}

/** Lists the models of the run and of the agents below it, whose tokens its usage contains. */
export function listModels({ models, subRuns }: AgentRun): string[] {
  return [...models, ...subRuns.flatMap(listModels)];
}
