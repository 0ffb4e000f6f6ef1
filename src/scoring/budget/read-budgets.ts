import {
  listCaps,
  type BudgetCap,
  type BudgetScope,
  type ScopedBudget,
  computeBudgetDay,
  computeNextBudgetDay,
} from '../../domain/money/budget.ts';
import type { JudgeCallStore, SpendingPart } from '../../store/contracts/stores.ts';
import { OPEN_LEASE_MS } from './account-terms.ts';
import type { BudgetReading } from './budget-ask.ts';
import { roundUsd } from '../../domain/money/usd.ts';
import { EarlierDays } from './earlier-days.ts';

/** Reads the state of all caps from the store: of every process, not only of this one. */
export interface BudgetReader {
  /** Throws what the store throws. */
  read(nowMs: number): Promise<BudgetReading[]>;
}

export function createBudgetReader(
  store: Pick<JudgeCallStore, 'listSpending'>,
  budgets: readonly ScopedBudget[],
): BudgetReader {
  const caps = budgets.flatMap(listCaps);
  const hasMonths = caps.some(({ period }) => period === 'month');
  const earlier = new EarlierDays<readonly SpendingPart[]>((range) => store.listSpending(range), []);

  return {
    async read(nowMs) {
      if (caps.length === 0) {
        return [];
      }
      const dayMs = computeBudgetDay(nowMs);
      const openSinceMs = Math.max(dayMs, nowMs - OPEN_LEASE_MS);
      const range = { fromMs: dayMs, toMs: computeNextBudgetDay(dayMs), openSinceMs };
      const [today, before] = await Promise.all([
        store.listSpending(range),
        hasMonths ? earlier.read(dayMs, nowMs) : [],
      ]);
      return caps.map((cap) => buildReading(cap, today, before));
    },
  };
}

function buildReading(
  cap: BudgetCap,
  today: readonly SpendingPart[],
  before: readonly SpendingPart[],
): BudgetReading {
  const parts = today.filter((part) => isPartOfBudget(part, cap.scope));
  const earlier = cap.period === 'day' ? [] : before.filter((part) => isPartOfBudget(part, cap.scope));
  const reservedUsd = parts.reduce((sum, part) => sum + part.reservedUsd, 0);
  const bookedUsd = [...parts, ...earlier].reduce((sum, part) => sum + part.bookedUsd, 0);
  return { ...cap, spentUsd: roundUsd(bookedUsd - reservedUsd), reservedUsd: roundUsd(reservedUsd) };
}

function isPartOfBudget(part: SpendingPart, { kind, name }: BudgetScope): boolean {
  if (kind === 'rule') {
    return part.scope === '' && part.rule === name;
  }
  const isOwn = kind === 'total' || part.tenant === name;
  return isOwn && (part.scope === kind || !part.isLease);
}
