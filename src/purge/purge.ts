import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { NotFoundError, SeveralTenantsError } from '../domain/errors.ts';
import { formatCount } from '../domain/plural.ts';
import type { RunRecord } from '../domain/run-record.ts';
import { sleep } from '../domain/waits.ts';
import { isRecord } from '../domain/unknown-values.ts';
import type { JobKind, JobRun } from '../jobs/job-kind.ts';
import { OPEN_STATUSES, type Job, type JobProgress } from '../store/contracts/jobs.ts';
import type { JobStore } from '../store/jobs/jobs.ts';
import type { PurgeHashKey, PurgeKind, PurgeSubject } from '../store/contracts/purge.ts';
import type { PurgeStore, TombstoneStore } from '../store/purge/purge-store.ts';
import { joinTraceKey, type SpanSource } from '../store/contracts/stores.ts';
import type { Log } from '../telemetry/log.ts';
import type { PurgeKey } from './purge-key.ts';
import type { WatchedTraces } from './purged-traces.ts';

/** Name of the kind of job. */
export const PURGE = 'purge';

/**
 * Time from the tombstones to the second pass, milliseconds. It is longer than the age of a process's tombstones (5 s), the retries of an
 * insert (7 s) and the longest insert (30 s) together: no later row belongs to a purged trace.
 */
const SECOND_PASS_MS = 45_000;

/** Time before the tombstones from which on late inserts are searched, milliseconds. */
const SEARCH_BACK_MS = 60_000;

/** Jobs of one read. */
const JOBS_PAGE = 500;

/** Time after which the runner of a job has heard that the job is cancelled, and writes no more, milliseconds: it looks every 3 s. */
const HEARD_MS = 5_000;

/** Reason of a job that a purge has cancelled. */
const CANCELLED =
  'a purge cancelled the job: its conditions named what was purged. Start it again with other conditions';

/** Specification of a purge, as its job stores it: without the id itself. */
interface PurgeSpec {
  readonly kind: PurgeKind;
  /** HMAC of the id. */
  readonly hash: string;
  readonly keyId: string;
  /** Only traces whose data arrived before this time, Unix milliseconds; null: all. */
  readonly beforeMs: number | null;
  /** Time of the tombstone of the id by the store's clock, Unix milliseconds. */
  readonly buriedAtMs: number;
  /** Number of texts that stay and name the id in plain text. */
  readonly mentions: number;
}

/** Reads the specification of a job of this kind. */
export function readPurgeSpec(spec: Job['spec']): PurgeSpec {
  return { mentions: 0, ...spec } as unknown as PurgeSpec;
}

export interface PurgeStores {
  readonly purges: PurgeStore;
  readonly tombstones: TombstoneStore;
  readonly jobs: JobStore;
  /** Clock of the store, Unix milliseconds. */
  readonly nowMs: () => Promise<number>;
}

/**
 * Collects the traces of a subject. Throws `NotFoundError` when nothing of it is stored, and `SeveralTenantsError` for an id that
 * several tenants have. The result has deleted nothing: `start` begins the deletion with a tombstone of the id, unless younger data stays, and
 * a job, whose id it returns; `cancel` forgets what was collected. `rows` counts all tables, `mentions` the texts that stay and name the id in
 * plain text.
 * @param beforeMs only traces whose data arrived before this time, Unix milliseconds
 */
export async function preparePurge(
  { purges, tombstones, jobs, nowMs }: PurgeStores,
  key: PurgeKey,
  subject: PurgeSubject,
  beforeMs: number | undefined,
) {
  const jobId = randomUUID();
  await purges.collect(jobId, subject);
  await purges.complete(jobId, beforeMs);
  const { traces, sessions, tenants } = await purges.readExtent(jobId);
  const cancel = (): Promise<void> => purges.forget(jobId);
  const [first = ''] = tenants;
  if (tenants.length > 1) {
    await cancel();
    throw new SeveralTenantsError(`${subject.kind} ${subject.id}`, tenants);
  }
  const mentions = await purges.countMentions(jobId, subject);
  const rows = Object.values(await purges.count(jobId)).reduce((sum, count) => sum + count, 0);
  if (rows === 0) {
    await cancel();
    throw new NotFoundError(
      `nothing of the ${subject.kind} ${subject.id} is stored${beforeMs === undefined ? '' : ' that is so old'}${mentions === 0 ? '' : `; ${describeMentions(mentions)}`}`,
    );
  }
  const { kind, id } = subject;
  const tenant = kind === 'tenant' ? '' : first;
  const start = async (): Promise<string> => {
    const { keyId } = key;
    const hash = key.compute(kind, tenant, id);
    if (beforeMs === undefined) {
      await tombstones.write({ kind, tenant, hash, keyId }, jobId);
    }
    const buriedAtMs = await nowMs();
    const spec: PurgeSpec = { kind, hash, keyId, beforeMs: beforeMs ?? null, buriedAtMs, mentions };
    await jobs.create({ id: jobId, kind: PURGE, tenant, spec: { ...spec } });
    return jobId;
  };
  return { traces, sessions, rows, mentions, cancel, start };
}

/** Says what a purge does not decide. */
export function describeMentions(mentions: number): string {
  return `${formatCount(mentions, 'further text')} name${mentions === 1 ? 's' : ''} the id in plain text: search for it with spanscore sql, and purge the traces that are about it with --trace`;
}

/**
 * Finds a purge of the same subject that has not ended. Returns the id of its job.
 * @param isLimited true for a purge with a limit of age
 */
export async function findOpenPurge(
  jobs: JobStore,
  key: PurgeKey,
  { kind, id, tenant }: PurgeSubject,
  isLimited: boolean,
): Promise<string | undefined> {
  const open = await jobs.listOpen();
  const same = open.find((job) => {
    const spec = readPurgeSpec(job.spec);
    return (
      job.kind === PURGE &&
      job.status !== 'cancelled' &&
      (tenant === undefined || tenant === job.tenant) &&
      (spec.beforeMs !== null) === isLimited &&
      spec.hash === key.compute(kind, job.tenant, id)
    );
  });
  return same?.id;
}

export interface LateTracesDeps extends PurgeStores {
  readonly spans: Pick<SpanSource, 'activity'>;
  readonly purged: WatchedTraces;
  readonly key: PurgeKey;
  readonly log: Log;
}

/**
 * Purges traces in which a purged user is recognised late: the trace had begun to arrive before the purge, and the id came with later
 * spans. A trace that an open purge of the user has collected is left to it. The store must show purged traces, too. Throws when the
 * store does.
 */
export async function purgeLateTraces(
  { spans, purged, key, log, ...stores }: LateTracesDeps,
  records: readonly RunRecord[],
): Promise<void> {
  const named = records.filter(
    ({ traceId, tenant, userId }) => traceId !== '' && purged.findUser(tenant, userId) !== undefined,
  );
  const activity = named.length === 0 ? new Map<string, never>() : await spans.activity(named);
  const begun = named.filter((record) => {
    const { firstArrivalMs = Infinity } = activity.get(joinTraceKey(record)) ?? {};
    return firstArrivalMs <= (purged.findUser(record.tenant, record.userId) ?? 0);
  });
  const isOpen = async (subject: PurgeSubject) => findOpenPurge(stores.jobs, key, subject, false);
  for (const ofUser of Map.groupBy(begun, (record) =>
    JSON.stringify([record.tenant, record.userId]),
  ).values()) {
    const { tenant, userId } = ofUser[0] as RunRecord;
    const traceIds = [...new Set(ofUser.map(({ traceId }) => traceId))];
    const open = await isOpen({ kind: 'user', id: userId, tenant });
    const collected = open === undefined ? null : await stores.purges.findCollected(open, traceIds);
    for (const traceId of traceIds.filter((id) => collected?.has(id) !== true)) {
      const subject = { kind: 'trace', id: traceId, tenant } as const;
      if ((await isOpen(subject)) !== undefined) {
        continue;
      }
      try {
        const job = await (await preparePurge(stores, key, subject, undefined)).start();
        log.info('a trace of a purged user is purged: the id came with its last spans', { traceId, job });
      } catch (error) {
        if (!(error instanceof NotFoundError)) {
          throw error;
        }
      }
    }
  }
}

/**
 * Deletes rows whose traces have a tombstone: copies of tables that are older than the purge. Returns the number of rows of each
 * table that had some.
 * @param buried.sinceMs time since which tenants may have been purged, Unix milliseconds
 */
export async function applyTombstones(
  purges: PurgeStore,
  buried: { readonly key: PurgeHashKey; readonly sinceMs: number; readonly signal: AbortSignal },
): Promise<PurgedRows> {
  const id = randomUUID();
  await purges.collectBuried(id, buried.key, buried.sinceMs);
  const { traces, sessions, tenants } = await purges.readExtent(id);
  if (traces + sessions + tenants.length === 0) {
    return {};
  }
  await purges.complete(id, undefined);
  const rows = await purges.count(id);
  await purges.remove(id, Object.keys(rows), buried.signal);
  await purges.reopenSessions(id);
  await purges.forget(id);
  return rows;
}

/** Numbers of deleted rows, by table. */
type PurgedRows = Readonly<Record<string, number>>;

const Rows = z.record(z.string(), z.number());

const Checkpoint = z.object({
  /** 0 for the first pass, 1 for the second. */
  pass: z.union([z.literal(0), z.literal(1)]),
  /** Time of the tombstones of the traces; null before they are written. */
  buriedAtMs: z.number().nullable(),
  /** Rows of each pass. */
  passes: z.tuple([Rows, Rows]),
  /** Purged traces and sessions. */
  traces: z.number(),
  sessions: z.number(),
});
type Checkpoint = Readonly<z.infer<typeof Checkpoint>>;

const START: Checkpoint = { pass: 0, buriedAtMs: null, passes: [{}, {}], traces: 0, sessions: 0 };

export interface PurgeDeps extends Pick<PurgeStores, 'purges' | 'nowMs'> {
  readonly jobs: Pick<JobStore, 'list' | 'order' | 'leave'>;
  readonly key: PurgeKey;
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
    this.#checkpoint = job.checkpoint === null ? START : Checkpoint.parse(job.checkpoint);
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
    const checkpoint = this.#checkpoint;
    await this.#save({
      buriedAtMs: checkpoint.buriedAtMs ?? (await nowMs()),
      // A run that was interrupted at its very end has forgotten what it collected.
      traces: Math.max(checkpoint.traces, traces),
      sessions: Math.max(checkpoint.sessions, sessions),
    });
    const rows = await purges.count(id);
    await this.#addRows(rows);
    // A purge with a limit of age leaves the id itself in use.
    if (this.#spec.beforeMs === null) {
      await forgetInJobs(this.#deps, this.#job);
    }
    await purges.remove(id, Object.keys(rows), this.#run.signal);
    await this.#run.check();
  }

  /** Stores the rows before they are deleted. A repeated run counts those again that are left: the larger count is that of all. */
  async #addRows(rows: PurgedRows): Promise<void> {
    const { pass, passes } = this.#checkpoint;
    const counted = joinRows([passes[pass], rows], Math.max);
    await this.#save({ passes: pass === 0 ? [counted, passes[1]] : [passes[0], counted] });
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
    const rows = joinRows(passes, (a, b) => a + b);
    const report = { traces, sessions, mentions: this.#spec.mentions, rows };
    return { checkpoint: this.#checkpoint, report, costUsd: 0 };
  }
}

function joinRows(parts: readonly PurgedRows[], join: (a: number, b: number) => number): PurgedRows {
  const all: Record<string, number> = {};
  for (const [table, rows] of parts.flatMap((part) => Object.entries(part))) {
    all[table] = join(all[table] ?? 0, rows);
  }
  return all;
}

/**
 * Removes a purged id, and the collected ids of traces and sessions, from the conditions of all jobs: its HMAC takes its place. A job
 * that has not ended is cancelled, because its conditions mean nothing any more. Jobs of a purged tenant are deleted. Can be repeated.
 */
async function forgetInJobs(
  { jobs, purges, key }: PurgeDeps,
  { id: purgeId, tenant, spec: purgeSpec }: Job,
): Promise<void> {
  const { kind, hash } = readPurgeSpec(purgeSpec);
  const cancel = async ({ id, status }: Job): Promise<boolean> => {
    const isOpen = OPEN_STATUSES.includes(status);
    if (isOpen) {
      await jobs.order(id, 'cancel');
      await jobs.leave(id, CANCELLED);
    }
    return isOpen;
  };
  // A purge holds no ids, and must end to forget what it has collected.
  const others = (await listJobs(jobs)).filter((job) => job.kind !== PURGE);
  const ofTenant = others.filter((job) => kind === 'tenant' && key.compute(kind, '', job.tenant) === hash);
  if ((await Promise.all(ofTenant.map(cancel))).includes(true)) {
    await sleep(HEARD_MS);
  }
  for (const { id } of ofTenant) {
    await purges.removeJob(id);
  }
  const texts = others.flatMap(({ spec }) => listValues(spec));
  const collected = texts.length === 0 ? null : await purges.findCollected(purgeId, [...new Set(texts)]);
  const isPurged = (text: string) =>
    collected?.has(text) === true || key.compute(kind, tenant, text) === hash;
  const hide = (text: string) => (isPurged(text) ? `hmac:${key.compute(kind, tenant, text)}` : text);
  for (const job of others.filter(({ spec }) => listValues(spec).some(isPurged))) {
    await cancel(job);
    await purges.replaceSpec(job.id, mapValues(job.spec, hide));
  }
}

async function listJobs(jobs: PurgeDeps['jobs']): Promise<Job[]> {
  const all: Job[] = [];
  for (let after: Awaited<ReturnType<JobStore['list']>>['next'] | undefined; after !== null;) {
    const page = await jobs.list({}, { limit: JOBS_PAGE, ...(after === undefined ? {} : { after }) });
    all.push(...page.items);
    after = page.next;
  }
  return all;
}

/** Lists the values of the conditions on attributes. Other conditions name services, agents and models, not people. */
function listValues(spec: Job['spec']): string[] {
  const values: string[] = [];
  mapValues(spec, (text) => {
    values.push(text);
    return text;
  });
  return values;
}

/** Replaces the values of the conditions on attributes: of the job, and of its rules. */
function mapValues(spec: Job['spec'], change: (text: string) => string): Job['spec'] {
  const map = (value: unknown, isValue: boolean): unknown => {
    if (Array.isArray(value)) {
      return value.map((each) => map(each, isValue));
    }
    if (isRecord(value)) {
      const members = Object.entries(value);
      return Object.fromEntries(
        members.map(([name, each]) => [name, map(each, isValue || name === 'attributes')]),
      );
    }
    return isValue && typeof value === 'string' ? change(value) : value;
  };
  return map(spec, false) as Job['spec'];
}
