import type { JudgeCallStore, SpendEntry, Spending } from '../../../src/store/contracts/stores.ts';

/** Sums the spending of a rule in these entries, as the store does. */
export function spendingIn(
  entries: readonly SpendEntry[],
  rule: string,
  sinceMs: number,
  openSinceMs: number,
): Spending {
  const booked = entries.filter((entry) => entry.rule === rule && entry.atMs >= sinceMs);
  const calls = Map.groupBy(booked, (entry) => entry.callId);
  const open = [...calls.values()].flatMap(([first, ...more]) =>
    first !== undefined && more.length === 0 && first.callId !== '' && first.atMs >= openSinceMs
      ? [first]
      : [],
  );
  return { bookedUsd: computeSum(booked), reservedUsd: computeSum(open) };
}

function computeSum(entries: readonly SpendEntry[]): number {
  return entries.reduce((sum, entry) => sum + entry.costUsd, 0);
}

/** Ledger of spending that behaves like the store: an entry that equals an earlier one counts as a repeated insert. */
export function spendLedger(pause: () => Promise<void> = async () => undefined): Pick<
  JudgeCallStore,
  'readSpending' | 'spend'
> & {
  readonly entries: () => SpendEntry[];
  isAway: boolean;
} {
  const entries = new Map<string, SpendEntry>();
  const ledger = {
    isAway: false,
    entries: () => [...entries.values()],
    async readSpending(rule: string, sinceMs: number, openSinceMs: number) {
      await pause();
      const spending = spendingIn(ledger.entries(), rule, sinceMs, openSinceMs);
      await pause();
      return spending;
    },
    async spend(added: readonly SpendEntry[]) {
      await pause();
      if (ledger.isAway) {
        throw new Error('the store is away');
      }
      added.forEach((entry) => entries.set(JSON.stringify(entry), entry));
      await pause();
    },
  };
  return ledger;
}
