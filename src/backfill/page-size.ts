import type { PreparedRule } from '../scoring/select/rule.ts';
import { MAX_KEYS } from '../store/contracts/stores.ts';

/**
 * Most traces of a page by its slowest scorer: one that asks a judge, one of the user's own, one that runs here. A page begins anew after an
 * interruption, and its traces are in memory.
 */
const PAGE = { judged: 100, own: 500, quick: MAX_KEYS };

/** Returns the most traces of a page of these rules. */
export function choosePageSize(rules: readonly PreparedRule[]): number {
  const scorers = rules.flatMap((rule) => rule.scorers);
  if (scorers.some(({ isJudged }) => isJudged)) {
    return PAGE.judged;
  }
  return scorers.some(({ guest }) => guest !== undefined) ? PAGE.own : PAGE.quick;
}
