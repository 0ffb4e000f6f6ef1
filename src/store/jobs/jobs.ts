import { randomUUID } from 'node:crypto';
import { canonicalJson } from '../../domain/identity.ts';
import type { Job, JobFilter, JobOrder, JobRow, JobStatus, JobTask, NewJob } from '../contracts/jobs.ts';
import type { ListPage } from '../contracts/lists.ts';
import { bind, type Database } from '../database.ts';
import type { QueryParams } from '../values.ts';
import { jobRows } from '../table-rows.ts';
import { cutPage } from '../lists/keyset-page.ts';

export function createJobStore(database: Database) {
  return {
    /** Stores a new job with the status `queued`. Changes nothing when a process has run the job of this id. */
    create: ({ id, kind, tenant, spec }: NewJob) =>
      database.insertRows('jobs', [
        { Id: id, Kind: kind, Tenant: tenant, Spec: JSON.stringify(spec), Status: 'queued', Version: '0' },
      ]),
    /** Stores the row of a job. Only for the holder of its lease. The greatest version wins. */
    write: (row: JobRow) => jobRows.write(database, [row]),
    /**
     * Stores the word of a person. A job that has ended stays as it is. A job may be paused twice, so each word has a token of its own.
     */
    order: (id: string, order: JobOrder) =>
      database.insertRows('jobs', [{ Id: id, Word: 'order', Status: order }], randomUUID()),
    /** Stores the reason why a process cannot run a job. */
    leave: (id: string, reason: string) =>
      database.insertRows('jobs', [{ Id: id, Word: 'left', Error: reason }], randomUUID()),
    /** Lists the jobs that have not ended, the oldest first. Mostly there is none: asking for one costs half of a read of all columns. */
    listOpen: async () => {
      const [open] = await database.rows(`SELECT 1 FROM jobs FINAL WHERE Word = '' AND ${IS_OPEN} LIMIT 1`);
      return open === undefined ? [] : readJobs(database, IS_OPEN, {});
    },
    ...bind(database, { listEqual }),
    /** Lists jobs, the newest first. */
    list: async ({ kind, tenant }: JobFilter, { limit, after }: ListPage) => {
      const conditions = [
        '1',
        ...(kind === undefined ? [] : ['Kind = {kind:String}']),
        ...(tenant === undefined ? [] : ['Tenant = {tenant:String}']),
        ...(after === undefined
          ? []
          : ['(CreatedAt, Id) < (fromUnixTimestamp64Milli({afterMs:Int64}), {afterId:String})']),
      ];
      const params = { kind, tenant, afterMs: after?.atMs, afterId: after?.id, limit: limit + 1 };
      const jobs = await readJobs(database, conditions.join(' AND '), params);
      const keyed = jobs.map((job) => ({ key: { atMs: job.createdAtMs, id: job.id }, item: job }));
      return cutPage(keyed.reverse(), limit);
    },
    /** Reads one job; undefined for an unknown id. */
    find: async (id: string) => (await readJobs(database, 'Id = {id:String}', { id }))[0],
  };
}

export type JobStore = ReturnType<typeof createJobStore>;

const IS_OPEN = "Status IN ('queued', 'running')";

/**
 * Lists the jobs with this task, open or not, the oldest first. The order of the keys of a specification does not count. Its length leaves
 * few specifications to compare.
 */
async function listEqual(database: Database, { kind, tenant, spec }: JobTask): Promise<Job[]> {
  const similar = await readJobs(
    database,
    'Kind = {kind:String} AND Tenant = {tenant:String} AND length(Spec) = {bytes:UInt32}',
    { kind, tenant, bytes: Buffer.byteLength(JSON.stringify(spec)) },
  );
  const wanted = canonicalJson(spec);
  return similar.filter((job) => canonicalJson(job.spec) === wanted);
}

/** Reads jobs in the order of their creation: the newest ones, with a limit. */
async function readJobs(database: Database, where: string, params: QueryParams): Promise<Job[]> {
  const rows = await jobRows.read(
    database,
    `FROM jobs FINAL WHERE Word = '' AND ${where} ORDER BY CreatedAt DESC, Id DESC
     ${params['limit'] === undefined ? '' : 'LIMIT {limit:UInt32}'}`,
    params,
  );
  const words = rows.length === 0 ? new Map<string, JobWords>() : await readWords(database, rows);
  return rows.map((row) => fromRow(row, words.get(row.id))).reverse();
}

interface JobWords {
  readonly order: string;
  readonly orderedAtMs: number;
  readonly left: string;
}

async function readWords(
  database: Database,
  jobs: readonly { readonly id: string }[],
): Promise<Map<string, JobWords>> {
  const rows = await database.rows<JobWords & { id: string }>(
    `SELECT Id AS id, anyIf(Status, Word = 'order') AS order,
       toUnixTimestamp64Milli(maxIf(WrittenAt, Word = 'order')) AS orderedAtMs, anyIf(Error, Word = 'left') AS left
     FROM jobs FINAL WHERE Id IN {ids:Array(String)} AND Word != '' GROUP BY Id`,
    { ids: jobs.map(({ id }) => id) },
  );
  return new Map(rows.map(({ id, ...words }) => [id, words]));
}

function fromRow(row: JobRow, words: JobWords | undefined): Job {
  const status = computeStatus(row.status, words?.order);
  // No process may run to store the end of a cancelled job.
  const orderedAtMs = status === 'cancelled' ? (words?.orderedAtMs ?? null) : null;
  return { ...row, status, left: words?.left ?? '', finishedAtMs: row.finishedAtMs ?? orderedAtMs };
}

/** The word of a person counts at once, before the runner has heard it. */
function computeStatus(status: JobRow['status'], order: string | undefined): JobStatus {
  if (status !== 'queued' && status !== 'running') {
    return status;
  }
  return order === 'cancel' ? 'cancelled' : order === 'pause' ? 'paused' : status;
}
