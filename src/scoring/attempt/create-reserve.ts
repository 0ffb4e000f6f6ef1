import { unpricedBudget } from '../../domain/money/model-prices.ts';
import { JudgeError } from '../../judge/judge-error.ts';
import type { JudgeScope } from '../../judge/judge-scope.ts';
import type { AttemptContext } from './attempt-context.ts';
import type { Cell } from './cell.ts';

/** Creates the function that reserves money for each judge call of a cell; undefined when no budget applies. */
export function createReserve(
  cell: Cell,
  { budget: budgets, signal }: Pick<AttemptContext, 'budget' | 'signal'>,
  scoreId: string,
): JudgeScope['reserve'] {
  const { name, paidBy: rule = name, budget: caps } = cell.selected.rule;
  const { clock, key } = cell.task;
  const { tenant } = key;
  if (!budgets.isLimited({ caps, tenant })) {
    return undefined;
  }
  return async ({ model, estimatedUsd }) => {
    if (estimatedUsd === undefined) {
      throw new JudgeError('judge_misconfigured', `rule ${name}: ${unpricedBudget(model)}`);
    }
    if (estimatedUsd === 0) {
      return { settle: () => undefined };
    }
    return budgets.reserve({
      rule,
      caps,
      tenant,
      scoreId,
      model,
      usd: estimatedUsd,
      nowMs: () => clock.nowMs(),
      signal,
    });
  };
}
