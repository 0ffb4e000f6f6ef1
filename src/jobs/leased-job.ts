import { hostname } from 'node:os';
import { AppError, toAppError } from '../domain/errors.ts';
import { sleep } from '../domain/waits.ts';
import type { Job, JobProgress, JobRow, JobStore } from '../store/contracts/jobs.ts';
import type { Log } from '../telemetry/log.ts';
import type { JobKind, JobRun } from './job-kind.ts';
import type { JobLease } from './job-lease.ts';

/** Versions of the rows that one lease of a job writes. */
const LEASE_VERSIONS = 2 ** 20;

/** Longest wait before another attempt, milliseconds. */
const MAX_RETRY_MS = 60_000;

/** Lease in its epoch, and the switch that interrupts the work. */
export interface HeldLease {
  readonly lease: JobLease;
  readonly epoch: number;
  readonly interrupt: AbortController;
}

export interface LeasedJobDeps {
  readonly jobs: JobStore;
  /** Clock of the store, Unix milliseconds. */
  readonly nowMs: () => Promise<number>;
  readonly log: Log;
}

/** Returns the host and the number of this process. */
export function nameProcess(): string {
  return `${hostname()}:${process.pid}`;
}

/**
 * Runs a job to its end, or until it is interrupted; then it stays open for this or another process. Never throws: a failure of the
 * store is logged.
 * @param options `firstRetryMs`: first wait after an error that may pass, milliseconds
 */
export async function runLeasedJob(
  deps: LeasedJobDeps,
  { id, kind, held }: { readonly id: string; readonly kind: JobKind; readonly held: HeldLease },
  { firstRetryMs }: { readonly firstRetryMs: number },
): Promise<void> {
  try {
    // The holder before may have stored progress since the job was listed.
    const job = await deps.jobs.find(id);
    if (job?.status === 'queued' || job?.status === 'running') {
      await new LeasedJob(deps, job, held).run(kind, firstRetryMs);
    }
  } catch (error) {
    deps.log.warn('a job was left before its end; it continues here or in another process', {
      job: id,
      kind: kind.name,
      error,
    });
  }
}

/** Stores the end of a cancelled job that no process runs. */
export async function endCancelled({ jobs, nowMs }: LeasedJobDeps, job: Job): Promise<void> {
  await jobs.write({ ...beginLease(job), status: 'cancelled', finishedAtMs: await nowMs() });
}

/** Returns the row of a job under a new lease: its version is above every row of an earlier lease. */
function beginLease(job: Job): JobRow {
  const version = (Math.floor(job.version / LEASE_VERSIONS) + 1) * LEASE_VERSIONS;
  return { ...job, status: 'queued', version };
}

/** Attempts at a job under one lease. */
class LeasedJob implements JobRun {
  readonly #deps: LeasedJobDeps;
  readonly #held: HeldLease;
  readonly #job: Job;
  #row: JobRow;

  constructor(deps: LeasedJobDeps, job: Job, held: HeldLease) {
    this.#deps = deps;
    this.#held = held;
    this.#job = job;
    this.#row = beginLease(job);
  }

  get signal(): AbortSignal {
    return this.#held.interrupt.signal;
  }

  async check(): Promise<void> {
    const { lease, epoch, interrupt } = this.#held;
    if (!interrupt.signal.aborted && (await lease.readEpoch()) !== epoch) {
      interrupt.abort();
    }
    if (interrupt.signal.aborted) {
      throw new AppError(`the job ${this.#row.id} was interrupted`, {
        code: 'cancelled',
        stage: 'store',
        retryable: true,
      });
    }
  }

  async save(progress: JobProgress): Promise<void> {
    await this.check();
    await this.#write(progress);
  }

  keep(progress: JobProgress): void {
    this.#row = { ...this.#row, ...progress };
  }

  async run(kind: JobKind, firstRetryMs: number): Promise<void> {
    const startedAtMs = this.#row.startedAtMs ?? (await this.#deps.nowMs());
    await this.check();
    await this.#write({ status: 'running', owner: nameProcess(), startedAtMs });
    for (let failures = 0; ; failures += 1) {
      try {
        const progress = await kind.run({ ...this.#job, ...this.#row }, this);
        await this.check();
        await this.#write({ ...progress, status: 'done', error: '', finishedAtMs: await this.#deps.nowMs() });
        return;
      } catch (error) {
        if (this.signal.aborted) {
          await this.#release();
          return;
        }
        if (await this.#end(error)) {
          return;
        }
        await sleep(Math.min(firstRetryMs * 2 ** Math.min(failures, 20), MAX_RETRY_MS), this.signal);
      }
    }
  }

  /** Stores an error. Returns true when it ends the job. */
  async #end(thrown: unknown): Promise<boolean> {
    const fault = toAppError(thrown, {
      failed: 'the job failed unexpectedly',
      stage: 'store',
      retryable: false,
    });
    const { id, kind } = this.#row;
    this.#deps.log.warn(fault.retryable ? 'a job is tried again' : 'a job failed', {
      job: id,
      kind,
      error: fault,
    });
    try {
      await this.check();
      await (fault.retryable
        ? this.#write({ error: fault.message })
        : this.#write({ status: 'failed', error: fault.message, finishedAtMs: await this.#deps.nowMs() }));
      return !fault.retryable;
    } catch (error) {
      // The store is away. The next attempt shows whether it is back.
      this.#deps.log.debug('the error of a job was not stored', { job: id, error });
      return this.signal.aborted;
    }
  }

  /** Leaves an interrupted job to the next process, unless it was cancelled or purged, or the lease is lost. */
  async #release(): Promise<void> {
    const { lease, epoch } = this.#held;
    if ((await lease.readEpoch()) !== epoch) {
      return;
    }
    const job = await this.#deps.jobs.find(this.#row.id);
    if (job === undefined) {
      return;
    }
    await this.#write(
      job.status === 'cancelled'
        ? { status: 'cancelled', finishedAtMs: await this.#deps.nowMs() }
        : { status: 'queued' },
    );
  }

  async #write(change: Partial<JobRow>): Promise<void> {
    this.#row = { ...this.#row, ...change, version: this.#row.version + 1 };
    await this.#deps.jobs.write(this.#row);
  }
}
