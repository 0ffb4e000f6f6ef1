import { ConfigError } from '../domain/errors.ts';
import { findPrice, unpricedBudget, type PriceTable } from '../domain/model-prices.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';

/**
 * Refuses a rule with a budget when one of its scorers asks a judge without a price. The configuration shows the judges of
 * prebuilt scorers; the judge of a module shows when it is loaded.
 */
export function rejectUnpricedBudgets(rules: readonly PreparedRule[], prices: PriceTable): void {
  for (const { name, budget, scorers } of rules) {
    if (budget === undefined) {
      continue;
    }
    for (const scorer of scorers) {
      // A scorer whose steps ask different judges names them all, with commas.
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
