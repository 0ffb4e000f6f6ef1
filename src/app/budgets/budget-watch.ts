import type { Config } from '../config/index.ts';
import { createBudgetReader, type BudgetReading } from '../../scoring/budget/budget-ask.ts';
import { computeRenewal } from '../../domain/money/budget-period.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { ScopedBudget } from '../../domain/money/budget.ts';

/** State of a cap. */
export interface CapState extends BudgetReading {
  /** Time at which the cap is full again, Unix milliseconds. */
  readonly renewsAtMs: number;
}

/** State of all configured caps at one time. */
export interface BudgetMoment {
  /** Time of the read by the store's clock, Unix milliseconds. */
  readonly nowMs: number;
  readonly caps: readonly CapState[];
}

/** Configured budgets, with the spending of every process on the store. */
export interface BudgetWatch {
  /** Reads all caps, once for all callers at the same time. Throws what the store throws. */
  read(): Promise<BudgetMoment>;
  /** Returns what was read at most `maxAgeMs` ago, or reads. Throws what the store throws. */
  readRecent(maxAgeMs: number): Promise<BudgetMoment>;
}

export function createBudgetWatch(
  config: Pick<Config, 'rules' | 'budgets'>,
  store: {
    readonly judgeCalls: Pick<Store['judgeCalls'], 'listSpending'>;
    readonly spans: Pick<Store['spans'], 'nowMs'>;
  },
  monotonicMs: () => number = () => performance.now(),
): BudgetWatch {
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
    read,
    readRecent: async (maxAgeMs) =>
      latest !== undefined && monotonicMs() - latest.readAtMs <= maxAgeMs ? latest.moment : read(),
  };
}

/** Lists the budgets of a configuration: of rules, of tenants and of the installation. */
function listConfiguredBudgets({ rules, budgets }: Pick<Config, 'rules' | 'budgets'>): ScopedBudget[] {
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
