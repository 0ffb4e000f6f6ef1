import type { Caller } from '../access/request-access.ts';
import { BACKFILL } from '../../backfill/backfill-job.ts';
import { ConfigError, InvalidInputError } from '../../domain/errors.ts';
import { followJob, openJob } from '../../jobs/follow-job.ts';
import type { ListPage } from '../../store/contracts/lists.ts';
import type { Job, JobOrder, JobStore } from '../../store/contracts/jobs.ts';
import {
  findBackfill,
  orderBackfill,
  planBackfill,
  type AskedBackfill,
} from '../../backfill/configured-backfill.ts';
import { loadPurgeKey } from '../../purge/configured-purge.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Config } from '../../configuration.ts';
import type { ScoringOnDemand } from './scoring-on-demand.ts';

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
    find: (id: string) => findBackfill(jobs, id, tenant),
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
  {
    config,
    store: { jobs, judgeUse },
    onDemand,
  }: {
    readonly config: Config;
    readonly store: Pick<Store, 'jobs' | 'judgeUse'>;
    readonly onDemand: ScoringOnDemand;
  },
  caller: Pick<Caller, 'tenant'>,
) {
  const { tenant = '' } = caller;
  const plan = async (asked: AskedBackfill) => {
    try {
      const { kit, scoring } = await onDemand.load();
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
      return findBackfill(jobs, id);
    },
    /** Says what it would do and cost, and stores nothing. */
    async dryRun(asked: AskedBackfill) {
      const { kit, scoring, spec } = await plan(asked);
      const { dryRunConfigured } = await import('./backfill-dry-run.ts');
      const signal = AbortSignal.timeout(LISTING_LIMIT_MS);
      return dryRunConfigured(
        { config, kit, scoring, judgeUse, isBesideLive: onDemand.isBesideLive },
        { spec, tenant, signal },
      );
    },
    /** Throws an `InvalidInputError` when the backfill has ended. */
    order: async (id: string, order: JobOrder) =>
      orderBackfill(jobs, await findBackfill(jobs, id, caller.tenant), order),
  };
}
