import { sleep } from '../domain/waits.ts';
import type { Job, JobProgress } from '../store/contracts/jobs.ts';
import type { SpanSource } from '../store/contracts/stores.ts';

/** Lease of a running job, and the place for its progress. */
export interface JobRun {
  /** Aborted when the work must stop: the process stops, the job is paused or cancelled, or the lease is lost. */
  readonly signal: AbortSignal;
  /** Throws `cancelled` when this process must not write for the job any more. Call it before each write of the work. */
  check(): Promise<void>;
  /** Stores the progress. After an interruption the next run gets the last stored one. Throws as `check` does. */
  save(progress: JobProgress): Promise<void>;
  /** Keeps the progress of work that was interrupted or failed: it is stored when the job is left, and the next attempt gets it. */
  keep(progress: JobProgress): void;
}

/**
 * Kind of job: its name, and its work. Work may run twice from a checkpoint, so each step must be repeatable. An error that may pass
 * (`retryable`) is tried again after a wait, from the last stored progress. Any other error ends the job as failed.
 */
export interface JobKind {
  readonly name: string;
  /** Returns why this process cannot run a job, for its status; undefined when it can. Default: it can. */
  refuse?(job: Job): string | undefined | Promise<string | undefined>;
  /**
   * Does the work from the job's checkpoint on. Returns the last progress when all is done. Throws soon after the signal is aborted, for
   * example what `check` throws.
   */
  run(job: Job, run: JobRun): Promise<JobProgress>;
}

/** Time by which the clocks of two processes may differ when they ask the store for its time, milliseconds. */
const SETTLE_MS = 1_000;

/**
 * Returns the start of a job by the store's clock, Unix milliseconds. A job that replaces scores waits around it: scores that were stored
 * before then differ in time from its own.
 * @param settleMs longest difference of the clocks of two processes, milliseconds; default 1,000
 */
export async function beginJob(
  spans: Pick<SpanSource, 'nowMs'>,
  { signal }: JobRun,
  settleMs = SETTLE_MS,
): Promise<number> {
  const begunMs = (await spans.nowMs()) + settleMs;
  await sleep(2 * settleMs, signal);
  return begunMs;
}
