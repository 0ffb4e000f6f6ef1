import type { Config } from './config/index.ts';
import { computeBudgetDay, computeNextBudgetDay } from '../scoring/attempt/budget-day.ts';
import { OPEN_LEASE_MS } from '../scoring/attempt/budget-account.ts';
import type { BudgetReading } from '../scoring/attempt/budget-ask.ts';
import type { JudgeState } from '../scoring/attempt/judge-health.ts';
import type { ScoringLoopStatus } from '../scoring/live/scoring-loop.ts';
import { packageVersion } from './package-version.ts';
import type { Store, StoreSize } from '../store/contracts/store.ts';

/** Store and budgets, the same for every process on one store. */
export interface StoreStatus {
  readonly store: StoreSize & { readonly kind: string };
  /** Budgets of this UTC day. */
  readonly budgets: readonly BudgetReading[];
}

/** Live scoring of one process. */
export interface ScorerStatus {
  readonly scoring: ScoringLoopStatus;
  readonly judges: readonly JudgeState[];
}

/** Reply of `GET /api/v1/status`. */
export interface ServeStatus extends Partial<StoreStatus>, Partial<ScorerStatus> {
  readonly version: string;
  readonly pid: number;
  readonly startedAtMs: number;
  readonly roles: readonly string[];
}

/** Returns this process for the status. */
export function processStatus(
  roles: readonly string[],
): Pick<ServeStatus, 'version' | 'pid' | 'startedAtMs' | 'roles'> {
  const startedAtMs = Date.now() - Math.round(process.uptime() * 1_000);
  return { version: packageVersion(), pid: process.pid, startedAtMs, roles };
}

/** Reads the status of the store. Throws an `AppError` when the store cannot be read. */
export async function readStoreStatus(
  { rules }: Pick<Config, 'rules'>,
  store: Pick<Store, 'size' | 'judgeCalls' | 'spans'>,
  kind: string,
): Promise<StoreStatus> {
  const [size, nowMs] = await Promise.all([store.size(), store.spans.nowMs()]);
  const fromMs = computeBudgetDay(nowMs);
  const range = {
    fromMs,
    toMs: computeNextBudgetDay(nowMs),
    openSinceMs: Math.max(fromMs, nowMs - OPEN_LEASE_MS),
  };
  const budgets = rules.flatMap(({ name, budget }) =>
    budget === undefined ? [] : [{ rule: name, capUsd: budget.perDay }],
  );
  return {
    store: { kind, ...size },
    budgets: await Promise.all(
      budgets.map(async ({ rule, capUsd }) => {
        const { bookedUsd, reservedUsd } = await store.judgeCalls.readSpending(rule, range);
        return { rule, capUsd, spentUsd: bookedUsd - reservedUsd, reservedUsd };
      }),
    ),
  };
}
