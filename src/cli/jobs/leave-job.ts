import { hasLiveScorer } from '../../aggregates/refresh-aggregates.ts';
import { StoreUnavailableError } from '../../domain/errors.ts';
import { followJob } from '../../jobs/follow-job.ts';
import type { DutyStore } from '../../store/contracts/duties.ts';
import type { JobStore } from '../../store/contracts/jobs.ts';
import { LEFT_MS } from './run-job.ts';

/** Throws `store_unavailable` when no process would run a job that the command leaves. */
export async function requireLiveScorer(duties: Pick<DutyStore, 'readMembers'>): Promise<void> {
  if (!(await hasLiveScorer(duties))) {
    throw new StoreUnavailableError(
      'no process with the role scorer runs on this store, so nobody would do the work: start spanscore serve, or leave out --detach',
    );
  }
}

/**
 * Waits until a live scorer process takes the job that the command leaves, or each has looked at it. Throws `store_unavailable` with the
 * reason of the last one that refused it. A process that has no room yet takes it later.
 */
export async function requireTaker(jobs: JobStore, id: string, signal: AbortSignal): Promise<void> {
  const taken = new AbortController();
  const { status, left } = await followJob(jobs, id, {
    onChange: (job) => {
      if (job.status !== 'queued') {
        taken.abort();
      }
    },
    signal: AbortSignal.any([signal, taken.signal, AbortSignal.timeout(LEFT_MS)]),
  });
  if (status === 'queued' && left !== '') {
    throw new StoreUnavailableError(
      `no running serve does job ${id}, which stays queued: ${left}; restart that serve with this configuration, or repeat the command without --detach`,
    );
  }
}
