import { column, jsonOf, wordOf, type RowOf, type Table } from '../../domain/table.ts';
import type { Listed, ListPage } from './lists.ts';

/** Status of a job. A paused or cancelled job may still have a runner that is about to stop. */
export type JobStatus = JobRow['status'] | 'paused';

/** Statuses of a job that has not ended. */
export const OPEN_STATUSES: readonly JobStatus[] = ['queued', 'running', 'paused'];

/** Definition of `jobs`: rows as the holder of the lease writes them. Times are Unix milliseconds by the store's clock. */
export const JOBS = {
  name: 'jobs',
  columns: {
    id: column('String'),
    /** Name of a kind that a runner knows, for example `purge`. */
    kind: column('LowCardinality(String)'),
    /** Tenant of the job; '' for a job of the installation. */
    tenant: column('LowCardinality(String)'),
    /** Task of the job, as its kind reads it: plain JSON that never changes. */
    spec: jsonOf<Readonly<Record<string, unknown>>>({}),
    status: wordOf(['queued', 'running', 'done', 'failed', 'cancelled']),
    /** Process that ran it last; '' before the first. */
    owner: column('String'),
    /** Place from which the work continues after an interruption, as the kind reads it; null before the first. */
    checkpoint: jsonOf<unknown>(null),
    /** Counts and findings for people, by name. */
    report: jsonOf<Readonly<Record<string, unknown>>>({}),
    costUsd: column('Float64'),
    /** Error that ended the job, or stopped the last attempt; ''. */
    error: column('String'),
    createdAtMs: column("DateTime64(3, 'UTC')"),
    startedAtMs: column("Nullable(DateTime64(3, 'UTC'))"),
    finishedAtMs: column("Nullable(DateTime64(3, 'UTC'))"),
    version: column('UInt64'),
  },
  ofStore: { Word: 'LowCardinality(String)', WrittenAt: "DateTime64(3, 'UTC')" },
} satisfies Table;

/** Row of a job as the holder of its lease writes it. */
export type JobRow = RowOf<typeof JOBS>;

/** Task of a job. */
export type JobTask = Pick<JobRow, 'kind' | 'tenant' | 'spec'>;

/** Description of a new job. */
export type NewJob = JobTask & Pick<JobRow, 'id'>;

/** Part of a job that its runner changes. */
export type JobProgress = Pick<JobRow, 'checkpoint' | 'report' | 'costUsd'>;

/** Job with the last words of people and other processes. */
export interface Job extends Omit<JobRow, 'status'> {
  readonly status: JobStatus;
  /** Reason of the last process that left the job to others; ''. */
  readonly left: string;
}

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
