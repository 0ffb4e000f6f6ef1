import type { AskedBackfill, BackfillWrites } from '../../api/access/write-ports.ts';
import type { Caller } from '../../api/api-env.ts';
import type { BackfillPorts } from '../../api/ports.ts';
import { BACKFILL } from '../../backfill/backfill-job.ts';
import { ConfigError, InvalidInputError } from '../../domain/errors.ts';
import { followJob, openJob } from '../../jobs/follow-job.ts';
import type { JobStore } from '../../store/contracts/jobs.ts';
import { findBackfill, orderBackfill } from '../jobs/backfill-jobs.ts';
import { dryRunConfigured, planBackfill } from '../jobs/backfills.ts';
import { loadPurgeKey } from '../jobs/purges.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Config } from '../config/index.ts';
import type { ScoringOnDemand } from './scoring-on-demand.ts';

/** Time for which a dry run lists targets, milliseconds: within the time of a request, it also renders prompts. */
const LISTING_LIMIT_MS = 15_000;

/**
 * Creates the reads of backfills within a tenant.
 * @param stopping aborted when the process stops: then events end
 */
export function createBackfillPorts(
  jobs: JobStore,
  { tenant }: Pick<Caller, 'tenant'>,
  stopping: AbortSignal,
): BackfillPorts {
  return {
    list: (page) => jobs.list({ kind: BACKFILL, tenant }, page),
    find: (id) => findBackfill(jobs, id, tenant),
    follow: async (id, onChange, signal) => {
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
): BackfillWrites {
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
    async start(asked) {
      const { spec } = await plan(asked);
      const { hide } = loadPurgeKey(config.store);
      const id = await openJob(jobs, { kind: BACKFILL, tenant, spec: { ...spec } }, hide);
      return findBackfill(jobs, id);
    },
    async dryRun(asked) {
      const { kit, scoring, spec } = await plan(asked);
      const signal = AbortSignal.timeout(LISTING_LIMIT_MS);
      return dryRunConfigured(
        { config, kit, scoring, judgeUse, isBesideLive: onDemand.isBesideLive },
        { spec, tenant, signal },
      );
    },
    order: async (id, order) => orderBackfill(jobs, await findBackfill(jobs, id, caller.tenant), order),
  };
}
