import { createBudgetReader, type BudgetReading } from './budget-request.ts';
import {
  computeRenewal,
  type BudgetCaps,
  type ScopedBudget,
  type SharedBudgets,
} from '../../domain/money/budget.ts';
import { untilAborted } from '../../domain/waits.ts';
import type { Store } from '../../store/store.ts';
import type { Reading } from '../../telemetry/metrics.ts';

export interface CapState extends BudgetReading {
  /** Time at which the cap is full again, Unix milliseconds. */
  readonly renewsAtMs: number;
}

export interface BudgetMoment {
  /** Time of the read by the store's clock, Unix milliseconds. */
  readonly nowMs: number;
  readonly caps: readonly CapState[];
}

/** Budgets of rules, of tenants and of the installation. */
export interface BudgetConfig {
  readonly rules: readonly { readonly name: string; readonly budget?: BudgetCaps | undefined }[];
  readonly budgets: SharedBudgets;
}

/** Creates the reader of the configured budgets, with the spending of every process on the store. */
export function createBudgetWatch(
  config: BudgetConfig,
  store: {
    readonly judgeCalls: Pick<Store['judgeCalls'], 'listSpending'>;
    readonly spans: Pick<Store['spans'], 'nowMs'>;
  },
  monotonicMs: () => number = () => performance.now(),
) {
  const reader = createBudgetReader(store.judgeCalls, listConfiguredBudgets(config));
  let latest: { readonly moment: BudgetMoment; readonly readAtMs: number } | undefined;
  let reading: Promise<BudgetMoment> | undefined;

  async function readNow(): Promise<BudgetMoment> {
    const readAtMs = monotonicMs();
    const nowMs = await store.spans.nowMs();
    const readings = await reader.read(nowMs);
    const caps = readings.map((cap) => ({ ...cap, renewsAtMs: computeRenewal(cap.period, nowMs) }));
    latest = { moment: { nowMs, caps }, readAtMs };
    return latest.moment;
  }

  const read = () =>
    (reading ??= readNow().finally(() => {
      reading = undefined;
    }));

  return {
    /** Reads all caps, once for all callers at the same time. Throws what the store throws. */
    read,
    /** Returns what was read at most `maxAgeMs` ago, or reads. Throws what the store throws. */
    readRecent: async (maxAgeMs: number) =>
      latest !== undefined && monotonicMs() - latest.readAtMs <= maxAgeMs ? latest.moment : read(),
  };
}

/** Lists the budgets of a configuration: of rules, of tenants and of the installation. */
function listConfiguredBudgets({ rules, budgets }: BudgetConfig): ScopedBudget[] {
  const { total, tenants } = budgets;
  return [
    ...rules.flatMap(({ name, budget }): ScopedBudget[] =>
      budget === undefined ? [] : [{ scope: { kind: 'rule', name }, caps: budget }],
    ),
    ...Object.entries(tenants ?? {}).map(([name, caps]): ScopedBudget => ({
      scope: { kind: 'tenant', name },
      caps,
    })),
    ...(total === undefined ? [] : [{ scope: { kind: 'total', name: '' }, caps: total } as const]),
  ];
}

/** Age up to which a scrape gets the readings of an earlier one, milliseconds. */
const MAX_AGE_MS = 10_000;

/** Longest wait of a scrape for the store, milliseconds: it must show the other metrics when the store hangs. */
const WAIT_MS = 1_000;

/** Returns the metrics of all budgets of the store. Throws what the store throws, and when it does not answer in time. */
export async function budgetReadings(watch: ReturnType<typeof createBudgetWatch>): Promise<Reading[]> {
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
