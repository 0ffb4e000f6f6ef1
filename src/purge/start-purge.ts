import { randomUUID } from 'node:crypto';
import { NotFoundError, SeveralTenantsError } from '../domain/errors.ts';
import { formatCount } from '../domain/plural.ts';
import type { JobStore } from '../store/contracts/jobs.ts';
import type { PurgeStore, PurgeSubject, TombstoneStore } from '../store/contracts/purge.ts';
import { PURGE, readPurgeSpec, type PurgeSpec } from './purge-spec.ts';
import type { PurgeKey } from './purge-key.ts';

export interface PurgeStores {
  readonly purges: PurgeStore;
  readonly tombstones: TombstoneStore;
  readonly jobs: JobStore;
  /** Clock of the store, Unix milliseconds. */
  readonly nowMs: () => Promise<number>;
}

/** Purge that has collected its traces and deleted nothing. */
export interface PreparedPurge {
  readonly traces: number;
  readonly sessions: number;
  /** Rows in all tables. */
  readonly rows: number;
  /** Texts that stay and name the id in plain text: a person decides about them. */
  readonly mentions: number;
  /** Begins the deletion: a tombstone of the id, unless younger data stays; then a job. Returns the id of the job. */
  start(): Promise<string>;
  /** Forgets what was collected. */
  cancel(): Promise<void>;
}

/**
 * Collects the traces of a subject. Throws `NotFoundError` when nothing of it is stored, and `SeveralTenantsError` for an id that
 * several tenants have.
 * @param beforeMs only traces whose data arrived before this time, Unix milliseconds
 */
export async function preparePurge(
  { purges, tombstones, jobs, nowMs }: PurgeStores,
  key: PurgeKey,
  subject: PurgeSubject,
  beforeMs: number | undefined,
): Promise<PreparedPurge> {
  const jobId = randomUUID();
  await purges.collect(jobId, subject);
  await purges.complete(jobId, beforeMs);
  const { traces, sessions, tenants } = await purges.readExtent(jobId);
  const cancel = () => purges.forget(jobId);
  const [first = ''] = tenants;
  if (tenants.length > 1) {
    await cancel();
    throw new SeveralTenantsError(`${subject.kind} ${subject.id}`, tenants);
  }
  const mentions = await purges.countMentions(jobId, subject);
  const counts = await purges.count(jobId);
  const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (rows === 0) {
    await cancel();
    throw new NotFoundError(
      `nothing of the ${subject.kind} ${subject.id} is stored${beforeMs === undefined ? '' : ' that is so old'}${mentions === 0 ? '' : `; ${describeMentions(mentions)}`}`,
    );
  }
  const tenant = subject.kind === 'tenant' ? '' : first;
  return {
    traces,
    sessions,
    rows,
    mentions,
    cancel,
    start: async () => {
      const { kind } = subject;
      const hash = key.compute(kind, tenant, subject.id);
      if (beforeMs === undefined) {
        await tombstones.write({ kind, tenant, hash, keyId: key.keyId }, jobId);
      }
      const spec: PurgeSpec = {
        kind,
        hash,
        keyId: key.keyId,
        beforeMs: beforeMs ?? null,
        buriedAtMs: await nowMs(),
        mentions,
      };
      await jobs.create({ id: jobId, kind: PURGE, tenant, spec: { ...spec } });
      return jobId;
    },
  };
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
