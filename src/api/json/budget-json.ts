import type { BudgetCap } from '../../domain/money/budget.ts';
import { isoTime } from './time-json.ts';

/** Cap of a budget and the money spent of it, USD. */
export interface BudgetTotals extends BudgetCap {
  readonly spentUsd: number;
  /** Time at which the cap is full again, Unix milliseconds. */
  readonly renewsAtMs: number;
}

/** Formats a cap of a budget as JSON: its rule or its tenant by name, times in ISO 8601. */
export function budgetJson({ scope: { kind, name }, period, spentUsd, capUsd, renewsAtMs }: BudgetTotals) {
  return {
    scope: kind,
    rule: kind === 'rule' ? name : null,
    tenant: kind === 'tenant' ? name : null,
    period,
    spentUsd,
    capUsd,
    renewsAt: isoTime(renewsAtMs),
  };
}
