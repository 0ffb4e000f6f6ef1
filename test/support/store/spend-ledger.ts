import type { BudgetScope } from '../../../src/domain/money/budget.ts';
import type {
  SpendEntry,
  Spending,
  SpendingPart,
  SpendingRange,
} from '../../../src/store/contracts/stores.ts';
import type { JudgeCallStore } from '../../../src/store/tables/judge-calls.ts';

/** Sums the spending of a budget in these entries, as the store does. */
export function spendingIn(
  entries: readonly SpendEntry[],
  { kind, name }: BudgetScope,
  { fromMs, toMs, openSinceMs }: SpendingRange,
): Spending {
  const isOfBudget = (entry: SpendEntry) =>
    kind === 'rule'
      ? entry.rule === name && entry.scope === ''
      : (kind === 'total' || entry.tenant === name) && (entry.kind === 'call' || entry.scope === kind);
  const booked = entries.filter((entry) => isOfBudget(entry) && entry.atMs >= fromMs && entry.atMs < toMs);
  const unique = [...new Map(booked.map((entry) => [entry.entryId, entry])).values()];
  const open = [...Map.groupBy(unique, (entry) => entry.leaseId).values()]
    .filter((each) => each.some(({ atMs }) => atMs >= openSinceMs))
    .flatMap((each) => each.filter((entry) => entry.kind === 'lease'));
  return { bookedUsd: computeSum(unique), reservedUsd: computeSum(open) };
}

/** Sums the spending of all budgets in these entries, as the store does. */
export function listSpendingIn(
  entries: readonly SpendEntry[],
  { fromMs, toMs, openSinceMs }: SpendingRange,
): SpendingPart[] {
  const inRange = entries.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
  const unique = [...new Map(inRange.map((entry) => [entry.entryId, entry])).values()];
  const open = new Set(unique.filter(({ atMs }) => atMs >= openSinceMs).map(({ leaseId }) => leaseId));
  const parts = Map.groupBy(unique, ({ rule, tenant, scope, kind }) =>
    JSON.stringify([rule, tenant, scope, kind]),
  );
  return [...parts.values()].flatMap((each) => {
    const [first] = each;
    if (first === undefined) {
      return [];
    }
    const { rule, tenant, scope, kind } = first;
    const isLease = kind === 'lease';
    const reserved = isLease ? each.filter(({ leaseId }) => open.has(leaseId)) : [];
    return [{ rule, tenant, scope, isLease, bookedUsd: computeSum(each), reservedUsd: computeSum(reserved) }];
  });
}

function computeSum(entries: readonly SpendEntry[]): number {
  return entries.reduce((sum, entry) => sum + entry.costUsd, 0);
}

/** Ledger of spending that behaves like the store: a repeated entry counts once. */
export interface SpendLedger extends Pick<JudgeCallStore, 'readSpending' | 'listSpending' | 'spend'> {
  readonly entries: () => SpendEntry[];
  /** Number of statements so far. */
  statements: number;
  /** `lost`: the insert happens, but its client gets an error. */
  fault: 'none' | 'away' | 'lost';
}

export function spendLedger(pause: () => Promise<void> = async () => undefined): SpendLedger {
  const entries: SpendEntry[] = [];
  const ledger: SpendLedger = {
    fault: 'none',
    statements: 0,
    entries: () => [...entries],
    async readSpending(scope, range) {
      ledger.statements += 1;
      await pause();
      const spending = spendingIn(entries, scope, range);
      await pause();
      return spending;
    },
    async listSpending(range) {
      ledger.statements += 1;
      await pause();
      return listSpendingIn(entries, range);
    },
    async spend(added) {
      ledger.statements += 1;
      await pause();
      if (ledger.fault === 'away') {
        throw new Error('the store is away');
      }
      entries.push(...added);
      if (ledger.fault === 'lost') {
        throw new Error('the store did not answer in time');
      }
      await pause();
    },
  };
  return ledger;
}
