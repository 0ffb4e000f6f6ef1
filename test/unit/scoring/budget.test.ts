import { describe, expect, it } from 'vitest';
import { createBudget } from '../../../src/scoring/budget.ts';
import type { JudgeCallStore } from '../../../src/store/contracts/stores.ts';

type Entry = Parameters<JudgeCallStore['spend']>[0][number];

/** Money as the store keeps it: an entry that is equal to an earlier one is taken for a repeated insert. */
function ledger() {
  const entries = new Map<string, Entry>();
  const store: Pick<JudgeCallStore, 'spentSince' | 'spend'> = {
    spentSince: async (rule, sinceMs) =>
      [...entries.values()]
        .filter((entry) => entry.rule === rule && entry.atMs >= sinceMs)
        .reduce((sum, entry) => sum + entry.costUsd, 0),
    spend: async (added) => added.forEach((entry) => entries.set(JSON.stringify(entry), entry)),
  };
  return store;
}

const DAY_MS = 86_400_000;
const DAY_START_MS = Date.UTC(2026, 10, 21);
const ask = { rule: 'r', perDayUsd: 1, scoreId: 'one' };

describe('money put aside for a score', () => {
  it.each([
    ['in the middle of a day', DAY_START_MS + 1_000],
    ['in the first millisecond of a day', DAY_START_MS],
    ['in the last millisecond of a day', DAY_START_MS + DAY_MS - 1],
  ])('is booked in full on its day when the score cost twice as much, %s', async (_when, nowMs) => {
    const store = ledger();
    const budget = createBudget(store);

    const reservation = await budget.reserve({ ...ask, nowMs });
    const reserved = await store.spentSince('r', DAY_START_MS);
    await reservation?.settle(2 * reserved);

    expect(reserved).toBeGreaterThan(0);
    expect(await store.spentSince('r', DAY_START_MS)).toBe(2 * reserved);
    expect(await store.spentSince('r', DAY_START_MS + DAY_MS)).toBe(0);
  });
});
