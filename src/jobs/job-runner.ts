import { hostname } from 'node:os';
import { AppError, toAppError } from '../domain/errors.ts';
import { sleep } from '../domain/waits.ts';
import { startDuties, type Duties, type DutyOptions } from '../ownership/duties.ts';
import type { DutyStore } from '../store/tables/members.ts';
import type { Job, JobProgress, JobRow } from '../store/contracts/jobs.ts';
import type { JobStore } from '../store/jobs/jobs.ts';
import type { Log } from '../telemetry/log.ts';
import type { JobKind, JobRun } from './job-kind.ts';

export interface JobRunnerOptions {
  /** The only job to run. Default: all. */
  readonly only?: string | undefined;
  /** Interval between looks for jobs, milliseconds. Default 3,000. */
  readonly lookEveryMs?: number;
  /** Time before the first look, milliseconds: other processes may take the jobs meanwhile. Default 0. */
  readonly firstLookMs?: number;
  /** Most jobs that run at the same time; others stay free for other processes. Default 2. */
  readonly maxRunning?: number;
  /** First wait after an error that may pass, milliseconds; doubled up to a minute. Default 1,000. */
  readonly firstRetryMs?: number;
  readonly lease?: DutyOptions;
}

export interface JobRunnerDeps {
  readonly jobs: JobStore;
  readonly duties: DutyStore;
  /** Clock of the store, Unix milliseconds. */
  readonly nowMs: () => Promise<number>;
  readonly kinds: readonly JobKind[];
  readonly log: Log;
}

/** Interval between looks for jobs, milliseconds. */
export const LOOK_EVERY_MS = 3_000;

const DEFAULTS = {
  lookEveryMs: LOOK_EVERY_MS,
  firstLookMs: 0,
  maxRunning: 2,
  firstRetryMs: 1_000,
  lease: {},
};

/**
 * Starts to run the open jobs of a store, each under its lease, at once when no other runner asks for it. A job whose runner was killed is
 * taken over when this machine knows that the runner has ended, else when its beats are old.
 */
export function startJobRunner(deps: JobRunnerDeps, options: JobRunnerOptions = {}): JobRunner {
  return new JobRunner(deps, { ...DEFAULTS, ...options });
}

export class JobRunner {
  #deps: JobRunnerDeps;
  readonly #options: typeof DEFAULTS & JobRunnerOptions;
  /** Candidacies for the leases of jobs: of all candidates that live, the first one has the lease. */
  readonly #leases = new Map<string, Duties>();
  readonly #running = new Map<
    string,
    { readonly interrupt: AbortController; readonly ended: Promise<void> }
  >();
  /** Reasons that this process has stored for jobs that it cannot run. */
  readonly #refusals = new Map<string, string>();
  readonly #stopping = new AbortController();
  readonly #loop: Promise<void>;

  constructor(deps: JobRunnerDeps, options: typeof DEFAULTS & JobRunnerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#loop = this.#runLoop(this.#stopping.signal);
  }

  /** Interrupts the jobs under way, and leaves them to other processes. A second call waits for the first. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  /** Runs jobs by other kinds from now on. Resolves when the jobs under way, which keep their kinds, have ended. */
  async setKinds(kinds: readonly JobKind[]): Promise<void> {
    this.#deps = { ...this.#deps, kinds };
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  async #runLoop(stopping: AbortSignal): Promise<void> {
    await sleep(this.#options.firstLookMs, stopping);
    while (!stopping.aborted) {
      try {
        await this.#look();
      } catch (error) {
        this.#deps.log.warn('jobs cannot be read; trying again', { error });
      }
      await sleep(this.#options.lookEveryMs, stopping);
    }
    this.#running.forEach(({ interrupt }) => interrupt.abort());
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
    await this.#leaveAll([...this.#leases.keys()]);
  }

  async #look(): Promise<void> {
    const { only } = this.#options;
    const open = (await this.#deps.jobs.listOpen()).filter(({ id }) => only === undefined || id === only);
    const wanted = new Map(
      open.filter(({ status }) => status === 'queued' || status === 'running').map((job) => [job.id, job]),
    );
    for (const [id, { interrupt }] of this.#running) {
      if (!wanted.has(id)) {
        interrupt.abort();
      }
    }
    for (const job of wanted.values()) {
      const kind = await this.#findKind(job);
      if (kind !== undefined && !this.#running.has(job.id) && this.#running.size < this.#options.maxRunning) {
        await this.#tryStart(job, kind);
      }
    }
    const cancelled = open.filter(({ id, status }) => status === 'cancelled' && !this.#running.has(id));
    for (const job of cancelled) {
      await this.#endCancelled(job);
    }
    // Candidacies that cannot become a run now would keep other processes from it.
    const isFull = this.#running.size >= this.#options.maxRunning;
    const ending = new Set(cancelled.map(({ id }) => id));
    await this.#leaveAll(
      [...this.#leases.keys()].filter(
        (id) => !this.#running.has(id) && !ending.has(id) && (isFull || !wanted.has(id)),
      ),
    );
  }

  /** Ends a cancelled job that no process runs. Another process may still run it until it hears of the order: that one has the lease. */
  async #endCancelled(job: Job): Promise<void> {
    const { epoch } = await this.#ask(job.id);
    if (epoch !== undefined) {
      const finishedAtMs = await this.#deps.nowMs();
      await this.#deps.jobs.write({ ...beginLease(job), status: 'cancelled', finishedAtMs });
      await this.#leaveAll([job.id]);
    }
  }

  /**
   * Makes this process a candidate for the lease of a job. Returns the epoch in which it has the lease; undefined while it has none. Each
   * candidacy has members of its own, so that it can end and begin again.
   */
  async #ask(
    id: string,
  ): Promise<{ readonly epoch: number | undefined; readonly readEpoch: HeldLease['readEpoch'] }> {
    const duties =
      this.#leases.get(id) ?? startDuties(this.#deps.duties, { takesAlone: true, ...this.#options.lease });
    if (!this.#leases.has(id)) {
      duties.join([nameDuty(id)]);
      this.#leases.set(id, duties);
    }
    const readEpoch = () => duties.readEpoch(nameDuty(id));
    return { epoch: await readEpoch(), readEpoch };
  }

  /** Finds the kind of a job that this process can run. Stores the reason once when it cannot. */
  async #findKind(job: Job): Promise<JobKind | undefined> {
    const kind = this.#deps.kinds.find(({ name }) => name === job.kind);
    const reason = kind === undefined ? `it knows no jobs of the kind ${job.kind}` : await kind.refuse?.(job);
    if (reason === undefined) {
      return kind;
    }
    if (this.#refusals.get(job.id) !== reason) {
      await this.#deps.jobs.leave(job.id, `${nameProcess()} left the job: ${reason}`);
      this.#refusals.set(job.id, reason);
    }
    return undefined;
  }

  async #tryStart({ id }: Job, kind: JobKind): Promise<void> {
    const { epoch, readEpoch } = await this.#ask(id);
    // Other kinds may have come meanwhile: then the next look starts the job.
    if (epoch !== undefined && this.#deps.kinds.includes(kind)) {
      const interrupt = new AbortController();
      this.#running.set(id, { interrupt, ended: this.#run(id, kind, { readEpoch, epoch, interrupt }) });
    }
  }

  /** Runs a job to its end, or until it is interrupted; then it stays open for this or another process. A failure of the store is logged. */
  async #run(id: string, kind: JobKind, held: HeldLease): Promise<void> {
    const { jobs, log } = this.#deps;
    try {
      // The holder before may have stored progress since the job was listed.
      const job = await jobs.find(id);
      if (job?.status === 'queued' || job?.status === 'running') {
        await new LeasedJob(this.#deps, job, held).run(kind, this.#options.firstRetryMs);
      }
    } catch (error) {
      const details = { job: id, kind: kind.name, error };
      log.warn('a job was left before its end; it continues here or in another process', details);
    }
    this.#running.delete(id);
    await this.#leaveAll([id]);
  }

  async #leaveAll(ids: readonly string[]): Promise<void> {
    await Promise.all(
      ids.map(async (id) => {
        const duties = this.#leases.get(id);
        this.#leases.delete(id);
        duties?.stop();
        // The next candidate has the lease at once. A failure only delays it.
        await duties?.leave(nameDuty(id)).catch(() => undefined);
      }),
    );
  }
}

function nameDuty(jobId: string): string {
  return `job ${jobId}`;
}

/** Versions of the rows that one lease of a job writes. */
const LEASE_VERSIONS = 2 ** 20;

/** Longest wait before another attempt, milliseconds. */
const MAX_RETRY_MS = 60_000;

/** Lease in its epoch, and the switch that interrupts the work. */
interface HeldLease {
  readonly readEpoch: () => Promise<number | undefined>;
  readonly epoch: number;
  readonly interrupt: AbortController;
}

function nameProcess(): string {
  return `${hostname()}:${process.pid}`;
}

/** Returns the row of a job under a new lease: its version is above every row of an earlier lease. */
function beginLease(job: Job): JobRow {
  const version = (Math.floor(job.version / LEASE_VERSIONS) + 1) * LEASE_VERSIONS;
  return { ...job, status: 'queued', version };
}

class LeasedJob implements JobRun {
  readonly #deps: JobRunnerDeps;
  readonly #held: HeldLease;
  readonly #job: Job;
  #row: JobRow;

  constructor(deps: JobRunnerDeps, job: Job, held: HeldLease) {
    this.#deps = deps;
    this.#held = held;
    this.#job = job;
    this.#row = beginLease(job);
  }

  get signal(): AbortSignal {
    return this.#held.interrupt.signal;
  }

  async check(): Promise<void> {
    const { readEpoch, epoch, interrupt } = this.#held;
    if (!interrupt.signal.aborted && (await readEpoch()) !== epoch) {
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
    const { readEpoch, epoch } = this.#held;
    if ((await readEpoch()) !== epoch) {
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
