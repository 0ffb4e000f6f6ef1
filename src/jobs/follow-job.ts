import { randomUUID } from 'node:crypto';
import { canonicalJson } from '../domain/identity.ts';
import { NotFoundError } from '../domain/errors.ts';
import { sleep } from '../domain/waits.ts';
import { OPEN_STATUSES, type Job, type JobStore, type NewJob } from '../store/contracts/jobs.ts';

/** Job that was created or found. */
export interface OpenedJob {
  readonly id: string;
  /** True: no other process knows the id yet, but scorer processes find the job when they look for jobs. */
  readonly isNew: boolean;
}

/**
 * Stores a new job, or finds the open one with the same kind, tenant and specification: a command that is repeated continues it.
 */
export async function openJob(
  jobs: JobStore,
  { kind, tenant, spec }: Omit<NewJob, 'id'>,
): Promise<OpenedJob> {
  const wanted = canonicalJson(spec);
  const same = (await jobs.listOpen()).find(
    (job) =>
      job.kind === kind &&
      job.tenant === tenant &&
      OPEN_STATUSES.includes(job.status) &&
      canonicalJson(job.spec) === wanted,
  );
  if (same !== undefined) {
    return { id: same.id, isNew: false };
  }
  const id = randomUUID();
  await jobs.create({ id, kind, tenant, spec });
  return { id, isNew: true };
}

/** Interval in which a followed job is read, milliseconds. */
const READ_EVERY_MS = 500;

export interface FollowOptions {
  /** Called with each change of the stored job. */
  readonly onChange: (job: Job) => void;
  /** Ends the wait; the job continues where it runs. */
  readonly signal: AbortSignal;
  /** True: waits until a paused job is resumed. */
  readonly staysWhilePaused?: boolean;
}

/** Waits until a job has ended, is paused, or the signal is aborted. Returns the job as it is then. Throws when the store does. */
export async function followJob(
  jobs: JobStore,
  id: string,
  { onChange, signal, staysWhilePaused = false }: FollowOptions,
): Promise<Job> {
  let seen: Job | undefined;
  for (;;) {
    const job = await jobs.find(id);
    if (job === undefined) {
      throw new NotFoundError(`there is no job ${id}`);
    }
    if (
      seen === undefined ||
      seen.version !== job.version ||
      seen.status !== job.status ||
      seen.left !== job.left
    ) {
      seen = job;
      onChange(job);
    }
    const isOver = !OPEN_STATUSES.includes(job.status) || (job.status === 'paused' && !staysWhilePaused);
    if (signal.aborted || isOver) {
      return job;
    }
    await sleep(READ_EVERY_MS, signal);
  }
}
