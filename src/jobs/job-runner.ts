import { sleep } from '../domain/waits.ts';
import type { DutyOptions } from '../ownership/duties.ts';
import type { DutyStore } from '../store/contracts/duties.ts';
import type { Job, JobStore } from '../store/contracts/jobs.ts';
import type { Log } from '../telemetry/log.ts';
import { endCancelled, nameProcess, runLeasedJob, type HeldLease } from './leased-job.ts';
import type { JobKind } from './job-kind.ts';
import { joinLease, type JobLease } from './job-lease.ts';

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
  /** Times of the lease. */
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

/** Runner of the jobs of a store in this process. */
export interface JobRunner {
  /** Interrupts the jobs under way, and leaves them to other processes. A second call waits for the first. */
  stop(): Promise<void>;
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
 * Starts to run the open jobs of a store, each under its lease. A job whose runner was killed is taken over when this machine
 * knows that the runner has ended, else when its beats are old.
 */
export function startJobRunner(deps: JobRunnerDeps, options: JobRunnerOptions = {}): JobRunner {
  const runner = new LeasedRunner(deps, { ...DEFAULTS, ...options });
  const stopping = new AbortController();
  const loop = runner.loop(stopping.signal);
  return {
    stop: async () => {
      stopping.abort();
      await loop;
    },
  };
}

/** Job that runs in this process. */
interface RunningJob {
  readonly interrupt: AbortController;
  readonly ended: Promise<void>;
}

class LeasedRunner {
  readonly #deps: JobRunnerDeps;
  readonly #options: typeof DEFAULTS & JobRunnerOptions;
  readonly #leases = new Map<string, JobLease>();
  readonly #running = new Map<string, RunningJob>();
  /** Reasons that this process has stored for jobs that it cannot run. */
  readonly #refusals = new Map<string, string>();

  constructor(deps: JobRunnerDeps, options: typeof DEFAULTS & JobRunnerOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  async loop(stopping: AbortSignal): Promise<void> {
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
      await endCancelled(this.#deps, job);
      await this.#leaveAll([job.id]);
    }
  }

  /** Makes this process a candidate for the lease of a job. Returns the epoch in which it has the lease. */
  async #ask(id: string): Promise<{ readonly lease: JobLease; readonly epoch: number | undefined }> {
    const lease = this.#leases.get(id) ?? joinLease(this.#deps.duties, id, this.#options.lease);
    this.#leases.set(id, lease);
    return { lease, epoch: await lease.readEpoch() };
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

  async #tryStart(job: Job, kind: JobKind): Promise<void> {
    const { lease, epoch } = await this.#ask(job.id);
    if (epoch !== undefined) {
      const interrupt = new AbortController();
      const held = { lease, epoch, interrupt };
      const ended = this.#run(job.id, kind, held);
      this.#running.set(job.id, { interrupt, ended });
    }
  }

  async #run(id: string, kind: JobKind, held: HeldLease): Promise<void> {
    await runLeasedJob(this.#deps, { id, kind, held }, this.#options);
    this.#running.delete(id);
    await this.#leaveAll([id]);
  }

  async #leaveAll(ids: readonly string[]): Promise<void> {
    await Promise.all(
      ids.map(async (id) => {
        const lease = this.#leases.get(id);
        this.#leases.delete(id);
        await lease?.leave();
      }),
    );
  }
}
