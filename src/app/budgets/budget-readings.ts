import { untilAborted } from '../../domain/waits.ts';
import type { Reading } from '../../telemetry/metrics.ts';
import type { BudgetWatch } from './budget-watch.ts';

/** Age up to which a scrape gets the readings of an earlier one, milliseconds. */
const MAX_AGE_MS = 10_000;

/** Longest wait of a scrape for the store, milliseconds: it must show the other metrics when the store hangs. */
const WAIT_MS = 1_000;

/** Returns the metrics of all budgets of the store. Throws what the store throws, and when it does not answer in time. */
export async function budgetReadings(watch: Pick<BudgetWatch, 'readRecent'>): Promise<Reading[]> {
  const { caps } = await untilAborted(watch.readRecent(MAX_AGE_MS), AbortSignal.timeout(WAIT_MS));
  return caps.flatMap(({ scope: { kind, name }, period, spentUsd, reservedUsd, capUsd }) => {
    const labels = {
      scope: kind,
      rule: kind === 'rule' ? name : '',
      tenant: kind === 'tenant' ? name : '',
      period,
    };
    return Object.entries({ spent: spentUsd, reserved: reservedUsd, cap: capUsd }).map(
      ([state, value]) => ({ name: 'spanscore.budget', value, labels: { ...labels, state } }) as const,
    );
  });
}
