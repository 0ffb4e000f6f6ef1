import type { ExporterState } from '../domain/delivery.ts';
import type { ConfigControl, ConfigState } from '../config/config-control.ts';
import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../domain/unknown-values.ts';
import { type Config, parseConfig, withoutSecrets } from '../configuration.ts';
import type { ReadinessCheck } from '../domain/readiness-check.ts';
import { packageVersion } from '../process/package.ts';
import type { JudgeState } from '../scoring/attempt/judge-health.ts';
import { createBudgetWatch, type BudgetConfig } from '../scoring/budget/budget-watch.ts';
import type { ScoringLoopStatus } from '../scoring/live/scoring-loop.ts';
import type { SourceState } from '../store/contracts/sources.ts';
import type { Store } from '../store/store.ts';
import { silentLog } from '../telemetry/log.ts';
import { createReadiness } from './probes.ts';
import { budgetJson, jobJson } from './json/rows.ts';

/** Addresses for spans; null without a receiver. */
export interface OtlpAddresses {
  readonly otlpHttp: string | null;
  readonly otlpGrpc: string | null;
}

export interface ScorerStatus {
  readonly scoring: ScoringLoopStatus & {
    /** Number of traces since the start of which a rule with `costly` could not know the cost. */
    readonly unpriced: number;
  };
  readonly judges: readonly JudgeState[];
  readonly exporters: readonly ExporterState[];
}

/** Start of this process, Unix milliseconds. */
const STARTED_AT_MS = Date.now() - Math.round(process.uptime() * 1_000);

/** Store, open jobs (the oldest first) and caps, the same for every process on one store. Throws an `AppError` for a store that cannot be read. */
export type StoreStatus = Awaited<ReturnType<typeof readStoreStatus>>;

/**
 * Reads the status of the store.
 * @param kind kind of the store for people
 */
export async function readStoreStatus(config: BudgetConfig, store: Store, kind: string) {
  const [size, { version }, { caps }, jobs] = await Promise.all([
    store.size(),
    store.pace(),
    createBudgetWatch(config, store).read(),
    store.jobs.listOpen(),
  ]);
  const budgets = caps.map((cap) => ({ ...budgetJson(cap), reservedUsd: cap.reservedUsd }));
  return { store: { kind, version, ...size }, jobs: jobs.map(jobJson), budgets };
}

/** Reply of `GET /api/v1/status`. A caller of one tenant gets the parts that are about its own rows. */
export interface ServeStatus extends Partial<StoreStatus>, Partial<ScorerStatus>, OtlpAddresses {
  readonly sources?: readonly SourceState[];
  readonly version: string;
  readonly pid: number;
  readonly startedAt: string;
  readonly startedAtMs: number;
  readonly roles: readonly string[];
  /** Means of the last minute. */
  readonly spansPerSecond: number;
  readonly scoresPerSecond: number;
  readonly components: readonly {
    readonly name: string;
    readonly healthy: boolean;
    readonly error: string | null;
  }[];
  /** Without secrets. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Parts of `config` that differ from the defaults. */
  readonly configChanges?: Readonly<Record<string, unknown>>;
  /** Absent in a process that cannot reload. */
  readonly configuration?: ConfigState;
}

interface StatusSource {
  readonly config: Config;
  readonly control?: ConfigControl | undefined;
  readonly roles: readonly string[];
  readonly otlp: OtlpAddresses;
  readonly kind: string;
  readonly checks: readonly ReadinessCheck[];
  /** Undefined in a process without the role `scorer`. */
  readonly scorer: (() => ScorerStatus) | undefined;
  /** Undefined in a process without the role `collector`. */
  readonly sources?: (() => SourceState[]) | undefined;
}

/** Reads the status for a caller of one tenant or of all. Throws an `AppError` when the store cannot be read. */
export type ReadStatus = ReturnType<typeof createServeStatus>;

export function createServeStatus(source: StatusSource) {
  const { config, control, roles, otlp, kind, checks, scorer, sources } = source;
  const readiness = createReadiness(() => checks, silentLog);
  const [shown, defaults] = [withoutSecrets(config), withoutSecrets(parseConfig({}))];
  return async (store: Store, tenant: string | undefined): Promise<ServeStatus> => {
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
    const common = {
      version: packageVersion(),
      pid: process.pid,
      startedAt: new Date(STARTED_AT_MS).toISOString(),
      startedAtMs: STARTED_AT_MS,
      roles,
      ...otlp,
      spansPerSecond,
      scoresPerSecond,
      components,
    };
    return tenant === undefined
      ? {
          ...common,
          ...scorer?.(),
          ...(sources === undefined ? {} : { sources: sources() }),
          ...ofStore,
          config: shown,
          configChanges: leaveOutDefaults(shown, defaults) as Record<string, unknown>,
          ...(control === undefined ? {} : { configuration: control.state() }),
        }
      : {
          ...common,
          jobs: ofStore.jobs.filter((job) => job.tenant === tenant),
          budgets: ofStore.budgets.filter((cap) => cap.tenant === tenant),
        };
  };
}

/** Leaves out the keys of objects whose values are the defaults. */
function leaveOutDefaults(value: unknown, defaults: unknown): unknown {
  return isRecord(value) && isRecord(defaults)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([key, each]) =>
          isDeepStrictEqual(each, defaults[key]) ? [] : [[key, leaveOutDefaults(each, defaults[key])]],
        ),
      )
    : value;
}
