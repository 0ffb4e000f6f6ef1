import { column, jsonOf, wordOf, type RowOf, type Table } from '../../domain/table.ts';

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

export type JobTask = Pick<JobRow, 'kind' | 'tenant' | 'spec'>;

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
