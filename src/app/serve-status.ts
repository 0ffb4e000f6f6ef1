import { createReadiness } from '../api/probes.ts';
import { jobJson, type JobJson, budgetJson } from '../api/json/rows.ts';
import type { OtlpAddresses } from './serve-addresses.ts';
import type { ReadinessCheck } from '../domain/readiness-check.ts';
import { silentLog } from '../telemetry/log.ts';
import { withoutSecrets } from './shown-config.ts';
import type { Config } from './config/index.ts';
import { createBudgetWatch } from './budgets/budget-watch.ts';
import type { JudgeState } from '../scoring/attempt/judge-health.ts';
import type { ScoringLoopStatus } from '../scoring/live/scoring-loop.ts';
import { packageVersion } from './package-version.ts';
import type { Store, StoreSize } from '../store/contracts/store.ts';

/** Store and budgets, the same for every process on one store. */
export interface StoreStatus {
  readonly store: StoreSize & { readonly kind: string; readonly version: string };
  /** Jobs that have not ended, the oldest first. */
  readonly jobs: readonly JobJson[];
  /** Caps of this UTC day and month. */
  readonly budgets: readonly BudgetStatus[];
}

/** State of a cap, USD. */
export interface BudgetStatus extends ReturnType<typeof budgetJson> {
  /** Leased by running processes and not spent. */
  readonly reservedUsd: number;
}

/** Live scoring of one process. */
export interface ScorerStatus {
  readonly scoring: ScoringLoopStatus & {
    /** Number of traces since the start of which a rule with `costly` could not know the cost. */
    readonly unpriced: number;
  };
  readonly judges: readonly JudgeState[];
}

/** A part of a process, and whether it works. */
export interface ComponentStatus {
  readonly name: string;
  readonly healthy: boolean;
  /** Null for a healthy one. */
  readonly error: string | null;
}

/** Reply of `GET /api/v1/status`. A caller of one tenant gets the parts that are about its own rows. */
export interface ServeStatus extends Partial<StoreStatus>, Partial<ScorerStatus>, OtlpAddresses {
  readonly version: string;
  readonly pid: number;
  readonly startedAt: string;
  /** Means of the last minute; absent in a process without a store. */
  readonly spansPerSecond?: number;
  readonly scoresPerSecond?: number;
  readonly components?: readonly ComponentStatus[];
  /** Without secrets. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly startedAtMs: number;
  readonly roles: readonly string[];
}

/** Start of this process, Unix milliseconds. */
const STARTED_AT_MS = Date.now() - Math.round(process.uptime() * 1_000);

/** Returns this process for the status. */
export function processStatus(
  roles: readonly string[],
  otlp: OtlpAddresses,
): Pick<ServeStatus, 'version' | 'pid' | 'startedAt' | 'startedAtMs' | 'roles' | keyof OtlpAddresses> {
  const startedAt = new Date(STARTED_AT_MS).toISOString();
  return {
    version: packageVersion(),
    pid: process.pid,
    startedAt,
    startedAtMs: STARTED_AT_MS,
    roles,
    ...otlp,
  };
}

/** Reads the status of the store. Throws an `AppError` when the store cannot be read. */
export async function readStoreStatus(
  config: Pick<Config, 'rules' | 'budgets'>,
  store: Pick<Store, 'size' | 'pace' | 'judgeCalls' | 'spans' | 'jobs'>,
  kind: string,
): Promise<StoreStatus> {
  const [size, { version }, { caps }, jobs] = await Promise.all([
    store.size(),
    store.pace(),
    createBudgetWatch(config, store).read(),
    store.jobs.listOpen(),
  ]);
  const budgets = caps.map((cap) => ({ ...budgetJson(cap), reservedUsd: cap.reservedUsd }));
  return { store: { kind, version, ...size }, jobs: jobs.map(jobJson), budgets };
}

/** Parts of a running process that its status is about. */
export interface StatusSource {
  readonly config: Config;
  readonly roles: readonly string[];
  readonly otlp: OtlpAddresses;
  /** Kind of the store for people. */
  readonly kind: string;
  readonly checks: readonly ReadinessCheck[];
  /** Undefined in a process without the role `scorer`. */
  readonly scorer: (() => ScorerStatus) | undefined;
}

/** Reads the status for a caller of one tenant or of all. Throws an `AppError` when the store cannot be read. */
export type ReadStatus = (store: Store, tenant: string | undefined) => Promise<ServeStatus>;

/** Creates the status of a process. */
export function createServeStatus({ config, roles, otlp, kind, checks, scorer }: StatusSource): ReadStatus {
  const readiness = createReadiness(() => checks, silentLog);
  return async (store, tenant) => {
    const [{ spansPerSecond, scoresPerSecond }, ofStore, { checks: parts }] = await Promise.all([
      store.pace(tenant),
      readStoreStatus(config, store, kind),
      readiness(),
    ]);
    const components = Object.entries(parts).map(([name, { ok, error }]) => ({
      name,
      healthy: ok,
      error: error ?? null,
    }));
    const common = { ...processStatus(roles, otlp), spansPerSecond, scoresPerSecond, components };
    return tenant === undefined
      ? { ...common, ...scorer?.(), ...ofStore, config: withoutSecrets(config) }
      : {
          ...common,
          jobs: ofStore.jobs.filter((job) => job.tenant === tenant),
          budgets: ofStore.budgets.filter((cap) => cap.tenant === tenant),
        };
  };
}
