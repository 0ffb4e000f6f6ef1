import { BACKFILL } from '../../jobs/stored-job.ts';
import { InvalidInputError, NotFoundError } from '../../domain/errors.ts';
import { OPEN_STATUSES, type Job, type JobOrder, type JobStore } from '../../store/contracts/jobs.ts';

/**
 * Finds a backfill. Throws a `NotFoundError` for an unknown id, and for one of another tenant.
 * @param tenant only tenant whose backfills are found; undefined: all
 */
export async function findBackfill(jobs: JobStore, id: string, tenant?: string): Promise<Job> {
  const job = await jobs.find(id);
  if (job?.kind !== BACKFILL || (tenant !== undefined && job.tenant !== tenant)) {
    throw new NotFoundError(`there is no backfill ${id}`);
  }
  return job;
}

/** Pauses, resumes or cancels a backfill. Returns it as it is then. Throws an `InvalidInputError` when it has ended. */
export async function orderBackfill(jobs: JobStore, job: Job, order: JobOrder): Promise<Job> {
  if (!OPEN_STATUSES.includes(job.status)) {
    throw new InvalidInputError(`the backfill ${job.id} is ${job.status}: it cannot be changed any more`);
  }
  await jobs.order(job.id, order);
  return (await jobs.find(job.id)) ?? job;
}
