import { limitHeap } from '../../process/parts.ts';
import { AppError, StoreUnavailableError } from '../../domain/errors.ts';
import { followJob } from '../../jobs/follow-job.ts';
import type { JobKind } from '../../jobs/job-kind.ts';
import { LOOK_EVERY_MS as SCORER_LOOK_MS, startJobRunner } from '../../jobs/job-runner.ts';
import type { Job } from '../../store/contracts/jobs.ts';
import type { JobStore } from '../../store/jobs/jobs.ts';
import type { Store } from '../../store/store.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { hasLiveScorer } from '../../aggregates/refresh-aggregates.ts';
import type { DutyStore } from '../../store/tables/members.ts';

/** Interval in which the runner of a command looks at its job, milliseconds. */
const LOOK_EVERY_MS = 500;

/** Time for which a job is left to a live scorer process, milliseconds: each looks for jobs in it, and the first candidate has the lease. */
export const LEFT_MS = SCORER_LOOK_MS + 2_000;

export interface AttachedJob {
  readonly store: Store;
  readonly id: string;
  readonly kinds: readonly JobKind[];
  /**
   * True when a live scorer process may run the job: the command runs it only if none takes it. The limits of judges hold within a
   * process, so a job beside live scoring would ask twice as much. Default: false.
   */
  readonly isLeft?: boolean;
  readonly show: (job: Job) => string;
  /** Formats the job as JSON for `--json`. Absent for a command that prints one document at its end. */
  readonly toJson?: (job: Job) => object;
}

/**
 * Runs a job in this process, unless another one has its lease, and prints each change: on stdout with `--json`, else on stderr. Returns
 * the job when it has ended, or is paused, or the command is interrupted. Throws the error of a job that failed.
 */
export async function runAttached(
  { out, log, signal }: Pick<CommandContext, 'out' | 'log' | 'signal'>,
  { store, id, kinds, show, toJson, isLeft = false }: AttachedJob,
): Promise<Job> {
  limitHeap(['scorer']);
  const { jobs, duties, spans } = store;
  const deps = { jobs, duties, nowMs: () => spans.nowMs(), kinds, log };
  const runner = startJobRunner(deps, {
    only: id,
    lookEveryMs: LOOK_EVERY_MS,
    firstLookMs: isLeft ? LEFT_MS : 0,
  });
  const shown: Promise<void>[] = [];
  try {
    const onChange = (job: Job) => {
      if (!out.json && job.status !== 'done') {
        out.progress(show(job));
      } else if (out.json && toJson !== undefined) {
        shown.push(out.item(toJson(job), () => ''));
      }
    };
    const job = await followJob(jobs, id, { onChange, signal });
    await Promise.all(shown);
    if (job.status === 'failed') {
      throw new AppError(`job ${id} failed: ${job.error}`, {
        code: 'bug',
        stage: 'store',
        retryable: false,
      });
    }
    return job;
  } finally {
    await runner.stop();
  }
}

export interface EndedJob {
  readonly show: (job: Job) => string;
  /** True for a job that is done, but with failures. */
  readonly isIncomplete: boolean;
  /** Says how a job that the command has left continues. */
  readonly farewell: string;
}

/** Prints the end of a job that this command has followed. Returns the exit code. */
export async function finishJob(
  { out }: Pick<CommandContext, 'out'>,
  job: Job,
  { show, isIncomplete, farewell }: EndedJob,
): Promise<ExitCode> {
  if (job.status === 'done') {
    await out.text(show(job));
    return isIncomplete ? EXIT.someFailed : EXIT.done;
  }
  if (job.status === 'cancelled' || job.status === 'paused') {
    out.talk(`job ${job.id} is ${job.status}`);
    return EXIT.failed;
  }
  out.talk(farewell);
  return EXIT.interrupted;
}

/** Throws `store_unavailable` when no process would run a job that the command leaves. */
export async function requireLiveScorer(duties: Pick<DutyStore, 'readMembers'>): Promise<void> {
  if (!(await hasLiveScorer(duties))) {
    throw new StoreUnavailableError(
      'no process with the role scorer runs on this store, so nobody would do the work: start spanscore serve, or leave out --detach',
    );
  }
}

/**
 * Waits until a live scorer process takes the job that the command leaves, or each has looked at it. Throws `store_unavailable` with the
 * reason of the last one that refused it. A process that has no room yet takes it later.
 */
export async function requireTaker(jobs: JobStore, id: string, signal: AbortSignal): Promise<void> {
  const taken = new AbortController();
  const { status, left } = await followJob(jobs, id, {
    onChange: (job) => {
      if (job.status !== 'queued') {
        taken.abort();
      }
    },
    signal: AbortSignal.any([signal, taken.signal, AbortSignal.timeout(LEFT_MS)]),
  });
  if (status === 'queued' && left !== '') {
    throw new StoreUnavailableError(
      `no running serve does job ${id}, which stays queued: ${left}; restart that serve with this configuration, or repeat the command without --detach`,
    );
  }
}
