import type { Replies } from '../api-types.ts';

type Cap = Pick<Replies['/judges']['budgets'][number], 'scope' | 'rule' | 'tenant' | 'period'>;

/** Names the cap of a budget: `rule production, each day`. */
export function budgetName({ scope, rule, tenant, period }: Cap): string {
  return `${scope === 'total' ? 'whole installation' : `${scope} ${rule ?? tenant ?? ''}`}, each ${period}`;
}
