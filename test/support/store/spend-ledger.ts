import type {
  JudgeCallStore,
  SpendEntry,
  Spending,
  SpendingRange,
} from '../../../src/store/contracts/stores.ts';

/** Sums the spending of a rule in these entries, as the store does. */
export function spendingIn(
  entries: readonly SpendEntry[],
  rule: string,
  { fromMs, toMs, openSinceMs }: SpendingRange,
): Spending {
  const booked = entries.filter((entry) => entry.rule === rule && entry.atMs >= fromMs && entry.atMs < toMs);
  const unique = [...new Map(booked.map((entry) => [entry.entryId, entry])).values()];
  const open = [...Map.groupBy(unique, (entry) => entry.leaseId).values()]
    .filter((each) => each.some(({ atMs }) => atMs >= openSinceMs))
    .flatMap((each) => each.filter(({ kind }) => kind === 'lease'));
  return { bookedUsd: computeSum(unique), reservedUsd: computeSum(open) };
}

function computeSum(entries: readonly SpendEntry[]): number {
  return entries.reduce((sum, entry) => sum + entry.costUsd, 0);
}

/** Ledger of spending that behaves like the store: a repeated entry counts once. */
export interface SpendLedger extends Pick<JudgeCallStore, 'readSpending' | 'spend'> {
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
    async readSpending(rule, range) {
      ledger.statements += 1;
      await pause();
      const spending = spendingIn(entries, rule, range);
      await pause();
      return spending;
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
