import type { Config } from './config/index.ts';
import { listConfiguredBudgets } from './configured-budgets.ts';
import type { BudgetScope } from '../domain/money/budget.ts';
import type { BudgetReading } from '../scoring/budget/budget-ask.ts';
import { computeRenewal } from '../scoring/budget/budget-period.ts';
import { createBudgetReader } from '../scoring/budget/read-budgets.ts';
import type { JudgeState } from '../scoring/attempt/judge-health.ts';
import type { ScoringLoopStatus } from '../scoring/live/scoring-loop.ts';
import { packageVersion } from './package-version.ts';
import type { Store, StoreSize } from '../store/contracts/store.ts';

/** Store and budgets, the same for every process on one store. */
export interface StoreStatus {
  readonly store: StoreSize & { readonly kind: string };
  /** Caps of this UTC day and month. */
  readonly budgets: readonly BudgetStatus[];
}

/** State of a cap, USD. */
export interface BudgetStatus extends Pick<BudgetReading, 'period' | 'spentUsd' | 'reservedUsd' | 'capUsd'> {
  readonly scope: BudgetScope['kind'];
  /** Null for a budget that is not of one rule. */
  readonly rule: string | null;
  /** Null for a budget that is not of one tenant. */
  readonly tenant: string | null;
  /** Time at which the cap is full again. */
  readonly renewsAt: string;
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
  config: Pick<Config, 'rules' | 'budgets'>,
  store: Pick<Store, 'size' | 'judgeCalls' | 'spans'>,
  kind: string,
): Promise<StoreStatus> {
  const [size, nowMs] = await Promise.all([store.size(), store.spans.nowMs()]);
  const reader = createBudgetReader(store.judgeCalls, listConfiguredBudgets(config));
  const readings = await reader.read(nowMs);
  return { store: { kind, ...size }, budgets: readings.map((reading) => buildBudgetStatus(reading, nowMs)) };
}

function buildBudgetStatus({ scope, period, ...usd }: BudgetReading, nowMs: number): BudgetStatus {
  const { spentUsd, reservedUsd, capUsd } = usd;
  return {
    scope: scope.kind,
    rule: scope.kind === 'rule' ? scope.name : null,
    tenant: scope.kind === 'tenant' ? scope.name : null,
    period,
    spentUsd,
    reservedUsd,
    capUsd,
    renewsAt: new Date(computeRenewal(period, nowMs)).toISOString(),
  };
}
