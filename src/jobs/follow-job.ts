import { canonicalJson, computeJobId } from '../domain/identity.ts';
import { NotFoundError } from '../domain/errors.ts';
import { sleep } from '../domain/waits.ts';
import { OPEN_STATUSES, type Job, type JobTask } from '../store/contracts/jobs.ts';
import type { JobStore } from '../store/jobs/jobs.ts';

/**
 * Stores a new job, or finds the open one with the same kind, tenant and specification: a command that is repeated continues it.
 * Returns the id. The id of a new job follows from its task and from the last equal job that has ended. So equal commands at the same
 * moment store the same row, and the row of a runner wins over theirs.
 * @param hide hashes a text with the secret of purges: a purge removes ids of people from a specification, and the id of the job must
 *   not tell them either
 */
export async function openJob(
  jobs: JobStore,
  task: JobTask,
  hide: (text: string) => string,
): Promise<string> {
  const same = await jobs.listEqual(task);
  const open = same.findLast(({ status }) => OPEN_STATUSES.includes(status));
  if (open !== undefined) {
    return open.id;
  }
  const text = describeTask(task);
  const ended = new Set(same.map(({ id }) => id));
  for (let last = same.at(-1)?.id ?? ''; ;) {
    const id = computeJobId(hide(`${last} ${text}`));
    const taken = await jobs.find(id);
    if (taken === undefined) {
      await jobs.create({ id, ...task });
      return id;
    }
    if (!ended.has(id) && describeTask(taken) === text) {
      // Another command has made the job since the list was read.
      return id;
    }
    // The job has ended, or a purge has changed its specification.
    last = id;
  }
}

/** Writes a task as text: equal texts for equal tasks. */
function describeTask({ kind, tenant, spec }: JobTask): string {
  return canonicalJson([kind, tenant, spec]);
}

/** Interval in which a followed job is read, milliseconds. */
const READ_EVERY_MS = 500;

export interface FollowOptions {
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
