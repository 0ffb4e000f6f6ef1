import { ConfigError } from '../../domain/errors.ts';
import { findPrice, unpricedBudget, type PriceTable } from '../../domain/money/model-prices.ts';
import type { SharedBudgets } from '../../domain/money/budget.ts';
import type { PreparedRule } from '../../scoring/select/rule.ts';

/**
 * Refuses a rule whose calls need money of a budget when the judge of one of its scorers has no price. The configuration shows the judges of
 * prebuilt scorers; the judge of a module is known once it is loaded.
 */
export function rejectUnpricedBudgets(
  rules: readonly PreparedRule[],
  { prices, budgets }: { readonly prices: PriceTable; readonly budgets: SharedBudgets },
): void {
  const isShared = budgets.total !== undefined || Object.keys(budgets.tenants ?? {}).length > 0;
  for (const { name, budget, scorers } of rules) {
    if (budget === undefined && !isShared) {
      continue;
    }
    for (const scorer of scorers) {
      // A scorer whose steps use different judges lists them with commas.
      const judges = scorer.judgeModel.split(',').filter((judge) => judge !== '');
      const unpriced = judges.find((judge) => findPrice(judge, prices) === undefined);
      if (unpriced !== undefined) {
        throw new ConfigError(`rule ${name}, scorer ${scorer.name}: ${unpricedBudget(unpriced)}`, {
          rule: name,
          scorer: scorer.name,
        });
      }
    }
  }
}
