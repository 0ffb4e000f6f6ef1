import type { ScopedBudget } from '../../domain/money/budget.ts';
import type { Config } from '../config/index.ts';

/** Lists the budgets of a configuration: of rules, of tenants and of the installation. */
export function listConfiguredBudgets({ rules, budgets }: Pick<Config, 'rules' | 'budgets'>): ScopedBudget[] {
  const { total, tenants } = budgets;
  return [
    ...rules.flatMap(({ name, budget }): ScopedBudget[] =>
      budget === undefined ? [] : [{ scope: { kind: 'rule', name }, caps: budget }],
    ),
    ...Object.entries(tenants).map(([name, caps]): ScopedBudget => ({
      scope: { kind: 'tenant', name },
      caps,
    })),
    ...(total === undefined ? [] : [{ scope: { kind: 'total', name: '' }, caps: total } as const]),
  ];
}
