import { sleep } from '../domain/waits.ts';
import { isRecord } from '../domain/unknown-values.ts';
import type { JobKind, JobRun } from '../jobs/job-kind.ts';
import type { Job, JobProgress } from '../store/contracts/jobs.ts';
import type { PurgeStore } from '../store/contracts/purge.ts';
import { forgetInJobs, type ForgetDeps } from './forget-in-jobs.ts';
import type { PurgeKey } from './purge-key.ts';
import { PURGE, readPurgeSpec, type PurgeSpec } from './purge-spec.ts';

/**
 * Time from the tombstones to the second pass, milliseconds. It is longer than the age of a process's tombstones (5 s), the retries of an
 * insert (7 s) and the longest insert (30 s) together: no later row belongs to a purged trace.
 */
const SECOND_PASS_MS = 45_000;

/** Time before the tombstones from which on late inserts are searched, milliseconds. */
const SEARCH_BACK_MS = 60_000;

/** Numbers of deleted rows, by table. */
type PurgedRows = Readonly<Record<string, number>>;

interface Checkpoint {
  /** 0 for the first pass, 1 for the second. */
  readonly pass: number;
  /** Time of the tombstones of the traces; null before they are written. */
  readonly buriedAtMs: number | null;
  /** Rows of each pass. */
  readonly passes: readonly PurgedRows[];
  /** Purged traces and sessions. */
  readonly traces: number;
  readonly sessions: number;
}

export interface PurgeDeps {
  readonly purges: PurgeStore;
  readonly jobs: ForgetDeps['jobs'];
  readonly key: PurgeKey;
  /** Clock of the store, Unix milliseconds. */
  readonly nowMs: () => Promise<number>;
  /** Default 45 s. */
  readonly secondPassMs?: number;
}

/**
 * Creates the kind of job that deletes what a purge has collected: tombstones first, then the rows of every table, and once more after
 * the longest insert.
 */
export function createPurgeKind(deps: PurgeDeps): JobKind {
  return {
    name: PURGE,
    refuse: ({ spec }) =>
      readPurgeSpec(spec).keyId === deps.key.keyId
        ? undefined
        : 'its key of tombstones (store.purgeKey) is another one',
    run: (job, run) => new Purge(deps, job, run).run(),
  };
}

/** Adds up the rows of both passes. */
function sumRows(passes: readonly PurgedRows[]): PurgedRows {
  const sums: Record<string, number> = {};
  for (const [table, rows] of passes.flatMap((pass) => Object.entries(pass))) {
    sums[table] = (sums[table] ?? 0) + rows;
  }
  return sums;
}

function readCheckpoint(checkpoint: unknown): Checkpoint {
  return isRecord(checkpoint)
    ? (checkpoint as unknown as Checkpoint)
    : { pass: 0, buriedAtMs: null, passes: [{}, {}], traces: 0, sessions: 0 };
}

class Purge {
  readonly #deps: PurgeDeps;
  readonly #job: Job;
  readonly #run: JobRun;
  readonly #spec: PurgeSpec;
  #checkpoint: Checkpoint;

  constructor(deps: PurgeDeps, job: Job, run: JobRun) {
    this.#deps = deps;
    this.#job = job;
    this.#run = run;
    this.#spec = readPurgeSpec(job.spec);
    this.#checkpoint = readCheckpoint(job.checkpoint);
  }

  async run(): Promise<JobProgress> {
    const { purges } = this.#deps;
    const { id } = this.#job;
    if (this.#checkpoint.pass === 0) {
      await this.#delete();
      await this.#save({ pass: 1 });
    }
    await this.#waitForInserts();
    await this.#collectLate();
    await this.#delete();
    await this.#run.check();
    await purges.reopenSessions(id);
    await purges.forget(id);
    return this.#buildProgress();
  }

  /** Deletes the rows of what is collected, table by table. */
  async #delete(): Promise<void> {
    const { purges, key, nowMs } = this.#deps;
    const { id } = this.#job;
    await this.#run.check();
    await purges.complete(id, this.#spec.beforeMs ?? undefined);
    await purges.bury(id, key);
    const { traces, sessions } = await purges.readExtent(id);
    const known = this.#checkpoint;
    await this.#save({
      buriedAtMs: known.buriedAtMs ?? (await nowMs()),
      // A run that was interrupted at its very end has forgotten what it collected.
      traces: Math.max(known.traces, traces),
      sessions: Math.max(known.sessions, sessions),
    });
    const rows = await purges.count(id);
    await this.#addRows(rows);
    await this.#forgetInJobs();
    await purges.remove(id, Object.keys(rows), this.#run.signal);
    await this.#run.check();
  }

  /** A purge with a limit of age leaves the id itself in use. */
  async #forgetInJobs(): Promise<void> {
    const { kind, hash, beforeMs } = this.#spec;
    if (beforeMs === null) {
      const { id: jobId, tenant } = this.#job;
      await forgetInJobs(this.#deps, { jobId, kind, tenant, hash });
    }
  }

  /** Stores the rows before they are deleted. A repeated run counts those again that are left: the larger count is that of all. */
  async #addRows(rows: PurgedRows): Promise<void> {
    const { pass, passes } = this.#checkpoint;
    const counted = { ...passes[pass] };
    for (const [table, count] of Object.entries(rows)) {
      counted[table] = Math.max(counted[table] ?? 0, count);
    }
    await this.#save({ passes: passes.with(pass, counted) });
  }

  async #waitForInserts(): Promise<void> {
    const { nowMs, secondPassMs = SECOND_PASS_MS } = this.#deps;
    const dueMs = (this.#checkpoint.buriedAtMs ?? (await nowMs())) + secondPassMs;
    for (let leftMs = dueMs - (await nowMs()); leftMs > 0; leftMs = dueMs - (await nowMs())) {
      await sleep(Math.min(leftMs, SECOND_PASS_MS), this.#run.signal);
      await this.#run.check();
    }
  }

  /** Collects the traces of inserts that were under way when the purge began. A limit of age leaves them out anyway. */
  async #collectLate(): Promise<void> {
    const { kind, hash, beforeMs, buriedAtMs } = this.#spec;
    if (beforeMs === null) {
      const range = { sinceMs: buriedAtMs - SEARCH_BACK_MS, untilMs: buriedAtMs };
      const subject = { kind, hash, tenant: kind === 'tenant' ? undefined : this.#job.tenant, ...range };
      await this.#deps.purges.collectByHash(this.#job.id, subject, this.#deps.key);
    }
  }

  async #save(change: Partial<Checkpoint>): Promise<void> {
    this.#checkpoint = { ...this.#checkpoint, ...change };
    await this.#run.save(this.#buildProgress());
  }

  #buildProgress(): JobProgress {
    const { passes, traces, sessions } = this.#checkpoint;
    return {
      checkpoint: this.#checkpoint,
      report: { traces, sessions, mentions: this.#spec.mentions, rows: sumRows(passes) },
      costUsd: 0,
    };
  }
}
