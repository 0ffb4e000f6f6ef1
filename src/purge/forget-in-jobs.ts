import { setTimeout as sleep } from 'node:timers/promises';
import { isRecord } from '../domain/unknown-values.ts';
import { OPEN_STATUSES, type Job, type JobStore } from '../store/contracts/jobs.ts';
import type { PurgeKind, PurgeStore } from '../store/contracts/purge.ts';
import type { PurgeKey } from './purge-key.ts';
import { PURGE } from './purge-spec.ts';

/** Jobs of one read. */
const PAGE = 500;

/** Time after which the runner of a job has heard that the job is cancelled, and writes no more, milliseconds: it looks every 3 s. */
const HEARD_MS = 5_000;

/** Reason of a job that a purge has cancelled. */
const CANCELLED =
  'a purge cancelled the job: its conditions named what was purged. Start it again with other conditions';

export interface ForgetDeps {
  readonly purges: Pick<PurgeStore, 'findCollected' | 'replaceSpec' | 'removeJob'>;
  readonly jobs: Pick<JobStore, 'list' | 'order' | 'leave'>;
  readonly key: PurgeKey;
}

/** Purge whose id must stay in no job. */
export interface ForgottenSubject {
  readonly jobId: string;
  readonly kind: PurgeKind;
  readonly tenant: string;
  /** HMAC of the id. */
  readonly hash: string;
}

/**
 * Removes a purged id, and the collected ids of traces and sessions, from the conditions of all jobs: its HMAC takes its place. A job
 * that has not ended is cancelled, because its conditions mean nothing any more. Jobs of a purged tenant are deleted. Can be repeated.
 */
export async function forgetInJobs(deps: ForgetDeps, subject: ForgottenSubject): Promise<void> {
  const { jobs, purges, key } = deps;
  const { kind, tenant, hash } = subject;
  // A purge holds no ids, and must end to forget what it has collected.
  const others = (await listJobs(jobs)).filter((job) => job.kind !== PURGE);
  const ofTenant = others.filter((job) => kind === 'tenant' && key.compute(kind, '', job.tenant) === hash);
  const cancelled = await Promise.all(ofTenant.map((job) => cancel(deps, job)));
  if (cancelled.includes(true)) {
    await sleep(HEARD_MS);
  }
  for (const { id } of ofTenant) {
    await purges.removeJob(id);
  }
  const texts = others.flatMap(({ spec }) => listValues(spec));
  const collected = await purges.findCollected(subject.jobId, [...new Set(texts)]);
  const isPurged = (text: string) => collected.has(text) || key.compute(kind, tenant, text) === hash;
  for (const job of others.filter(({ spec }) => listValues(spec).some(isPurged))) {
    await cancel(deps, job);
    await purges.replaceSpec(
      job.id,
      mapValues(job.spec, (text) => (isPurged(text) ? `hmac:${key.compute(kind, tenant, text)}` : text)),
    );
  }
}

async function listJobs(jobs: ForgetDeps['jobs']): Promise<Job[]> {
  const all: Job[] = [];
  for (let after: Awaited<ReturnType<JobStore['list']>>['next'] | undefined; after !== null;) {
    const page = await jobs.list({}, { limit: PAGE, ...(after === undefined ? {} : { after }) });
    all.push(...page.items);
    after = page.next;
  }
  return all;
}

/** Cancels an open job. Returns false for a job that has ended. */
async function cancel({ jobs }: ForgetDeps, { id, status }: Job): Promise<boolean> {
  if (!OPEN_STATUSES.includes(status)) {
    return false;
  }
  await jobs.order(id, 'cancel');
  await jobs.leave(id, CANCELLED);
  return true;
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
      return Object.fromEntries(
        Object.entries(value).map(([name, each]) => [name, map(each, isValue || name === 'attributes')]),
      );
    }
    return isValue && typeof value === 'string' ? change(value) : value;
  };
  return map(spec, false) as Job['spec'];
}
