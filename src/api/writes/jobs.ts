import type { Caller } from '../access/request-access.ts';
import { NotFoundError, ConfigError, InvalidInputError } from '../../domain/errors.ts';
import { PURGE, readPurgeSpec, findOpenPurge, preparePurge } from '../../purge/purge.ts';
import type { Job, JobOrder } from '../../store/contracts/jobs.ts';
import type { JobStore } from '../../store/jobs/jobs.ts';
import type { PurgeKind, PurgeSubject } from '../../store/contracts/purge.ts';
import type { Store } from '../../store/store.ts';
import type { Config } from '../../configuration.ts';
import { loadPurgeKey, requireSharedKey } from '../../purge/configured-purge.ts';
import { narrowTenant } from '../reads/traces.ts';
import { BACKFILL } from '../../jobs/stored-job.ts';
import { followJob, openJob } from '../../jobs/follow-job.ts';
import type { ListPage } from '../../store/contracts/lists.ts';
import type { AskedBackfill } from '../../jobs/configured-backfill.ts';
import type { OnDemandParts } from './scoring.ts';

export interface PurgeRequest {
  readonly kind: PurgeKind;
  readonly id: string;
  /** Tenant of the thing, where several have it. */
  readonly tenant?: string | undefined;
}

/**
 * Begins a purge within the tenant of the caller, or finds the one that was begun before. Throws a `NotFoundError` when the caller has
 * nothing of this id, and a `ConfigError` without a key that all processes share. Returns the id of its job, and the data that stays all the
 * same; null for none.
 */
export async function startPurge(config: Config, store: Store, caller: Caller, request: PurgeRequest) {
  requireSharedKey(config.store);
  const key = loadPurgeKey(config.store);
  const subject = readSubject(caller, request);
  const begun = await findOpenPurge(store.jobs, key, subject, false);
  const id = begun ?? (await prepare());
  return { id, remains: describeRemains(config) };

  async function prepare(): Promise<string> {
    const stores = { ...store, nowMs: () => store.spans.nowMs() };
    return (await preparePurge(stores, key, subject, undefined)).start();
  }
}

function readSubject({ tenant }: Caller, { kind, id, tenant: asked }: PurgeRequest): PurgeSubject {
  const narrowed = narrowTenant(tenant, kind === 'tenant' ? id : asked);
  return { kind, id, tenant: kind === 'tenant' ? undefined : narrowed };
}

/** Says where spans stay after a purge; null where all is deleted. */
export function describeRemains({ store: { spans } }: Config): string | null {
  const tables = [spans?.table, spans?.logs].filter((name) => name !== undefined);
  return tables.length === 0
    ? null
    : `spans in ${tables.join(' and ')} stay: spanscore only reads them; delete them there`;
}

/** Reads a job. Throws a `NotFoundError` for an unknown id, and for a job of another tenant. */
export async function findJob(
  config: Config,
  store: Pick<Store, 'jobs'>,
  caller: Caller,
  id: string,
): Promise<Job> {
  const job = await store.jobs.find(id);
  if (job === undefined || !isVisible(config, caller, job)) {
    throw new NotFoundError(`there is no job ${id}`);
  }
  return job;
}

/** The purge of a whole tenant is a job of the installation, which that tenant may see. */
function isVisible(config: Config, { tenant }: Caller, { kind, tenant: owner, spec }: Job): boolean {
  if (tenant === undefined || owner === tenant) {
    return true;
  }
  const purge = kind === PURGE ? readPurgeSpec(spec) : undefined;
  return purge?.kind === 'tenant' && purge.hash === loadPurgeKey(config.store).compute('tenant', '', tenant);
}

/** Loads the work of backfills with the first one: other requests need none of its code. */
const loadBackfills = () => import('../../jobs/configured-backfill.ts');

/** Time for which a dry run lists targets, milliseconds: within the time of a request, it also renders prompts. */
const LISTING_LIMIT_MS = 15_000;

/**
 * Creates the reads of backfills within a tenant.
 * @param stopping aborted when the process stops: then events end
 */
export function createBackfillReads(
  jobs: JobStore,
  { tenant }: Pick<Caller, 'tenant'>,
  stopping: AbortSignal,
) {
  return {
    list: (page: ListPage) => jobs.list({ kind: BACKFILL, tenant }, page),
    /** Throws a `NotFoundError` for an unknown id, and for a backfill of another tenant. */
    find: async (id: string) => (await loadBackfills()).findBackfill(jobs, id, tenant),
    /** Calls `onChange` with each state of a backfill, until it has ended or the signal is aborted. */
    follow: async (id: string, onChange: (job: Job) => void, signal: AbortSignal) => {
      await followJob(jobs, id, {
        onChange,
        signal: AbortSignal.any([signal, stopping]),
        staysWhilePaused: true,
      });
    },
  };
}

/** Creates the writes of backfills within the tenant of a caller: its backfills read the traces of this tenant only. */
export function createBackfillWrites(
  { config, store: { jobs, judgeUse }, onDemand }: OnDemandParts,
  caller: Pick<Caller, 'tenant'>,
) {
  const { tenant = '' } = caller;
  const plan = async (asked: AskedBackfill) => {
    try {
      const { kit, scoring } = await onDemand.load();
      const { planBackfill } = await loadBackfills();
      return { kit, scoring, spec: await planBackfill({ config, kit }, asked) };
    } catch (error) {
      throw error instanceof ConfigError ? new InvalidInputError(error.message, {}, error) : error;
    }
  };
  return {
    /** Starts a backfill, or finds the open one with the same specification. Throws an `InvalidInputError` for one that cannot be made. */
    async start(asked: AskedBackfill) {
      const { spec } = await plan(asked);
      const { hide } = loadPurgeKey(config.store);
      const id = await openJob(jobs, { kind: BACKFILL, tenant, spec: { ...spec } }, hide);
      return (await loadBackfills()).findBackfill(jobs, id);
    },
    /** Says what it would do and cost, and stores nothing. */
    async dryRun(asked: AskedBackfill) {
      const { kit, scoring, spec } = await plan(asked);
      const { dryRunConfigured } = await import('./backfill-dry-run.ts');
      const signal = onDemand.until ?? AbortSignal.timeout(LISTING_LIMIT_MS);
      return dryRunConfigured(
        { config, kit, scoring, judgeUse, isBesideLive: onDemand.isBesideLive },
        { spec, tenant, signal },
      );
    },
    /** Throws an `InvalidInputError` when the backfill has ended. */
    async order(id: string, order: JobOrder) {
      const { findBackfill, orderBackfill } = await loadBackfills();
      return orderBackfill(jobs, await findBackfill(jobs, id, caller.tenant), order);
    },
  };
}
