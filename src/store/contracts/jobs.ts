import type { Listed, ListPage } from './lists.ts';

/** Status of a job. A paused or cancelled job may still have a runner that is about to stop. */
export type JobStatus = 'queued' | 'running' | 'paused' | 'done' | 'failed' | 'cancelled';

/** Statuses of a job that has not ended. */
export const OPEN_STATUSES: readonly JobStatus[] = ['queued', 'running', 'paused'];

/** Task of a job. */
export interface JobTask {
  /** Name of a kind that a runner knows, for example `purge`. */
  readonly kind: string;
  /** Tenant of the job; '' for a job of the installation. */
  readonly tenant: string;
  /** Task of the job, as its kind reads it: plain JSON that never changes. */
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Description of a new job. */
export interface NewJob extends JobTask {
  readonly id: string;
}

/** Part of a job that its runner changes. */
export interface JobProgress {
  /** Place from which the work continues after an interruption, as the kind reads it; null before the first. */
  readonly checkpoint: unknown;
  /** Counts and findings for people, by name. */
  readonly report: Readonly<Record<string, unknown>>;
  readonly costUsd: number;
}

/** Job as it is stored. Times are Unix milliseconds by the store's clock. */
export interface Job extends NewJob, JobProgress {
  readonly status: JobStatus;
  /** Process that ran it last; '' before the first. */
  readonly owner: string;
  /** Error that ended the job, or stopped the last attempt; ''. */
  readonly error: string;
  /** Reason of the last process that left the job to others; ''. */
  readonly left: string;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly finishedAtMs: number | null;
  /** Version of the stored row. */
  readonly version: number;
}

/** Row of a job as the holder of its lease writes it. */
export type JobRow = Omit<Job, 'status' | 'left'> & {
  readonly status: Exclude<JobStatus, 'paused'>;
};

/** Word of a person on a job. */
export type JobOrder = 'pause' | 'resume' | 'cancel';

export interface JobFilter {
  readonly kind?: string | undefined;
  readonly tenant?: string | undefined;
}

/** Store of jobs. */
export interface JobStore {
  /** Stores a new job with the status `queued`. Changes nothing when a process has run the job of this id. */
  create(job: NewJob): Promise<void>;
  /** Stores the row of a job. Only for the holder of its lease. The greatest version wins. */
  write(row: JobRow): Promise<void>;
  /** Stores the word of a person. A job that has ended stays as it is. */
  order(id: string, order: JobOrder): Promise<void>;
  /** Stores the reason why a process cannot run a job. */
  leave(id: string, reason: string): Promise<void>;
  /** Lists the jobs that have not ended, the oldest first. */
  listOpen(): Promise<Job[]>;
  /** Lists the jobs with this task, open or not, the oldest first. The order of the keys of a specification does not count. */
  listEqual(task: JobTask): Promise<Job[]>;
  /** Lists jobs, the newest first. */
  list(filter: JobFilter, page: ListPage): Promise<Listed<Job>>;
  /** Reads one job; undefined for an unknown id. */
  find(id: string): Promise<Job | undefined>;
}
