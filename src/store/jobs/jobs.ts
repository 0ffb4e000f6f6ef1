import { randomUUID } from 'node:crypto';
import { canonicalJson } from '../../domain/identity.ts';
import type { Job, JobRow, JobStatus, JobStore, JobTask } from '../contracts/jobs.ts';
import type { Database } from '../database.ts';
import { fromMillis, type QueryParams, toDateTime } from '../values.ts';
import { cutPage } from '../lists/keyset-page.ts';

/** Creates the store of jobs. */
export function createJobStore(database: Database): JobStore {
  return {
    create: ({ id, kind, tenant, spec }) =>
      database.insertRows('jobs', [
        { Id: id, Kind: kind, Tenant: tenant, Spec: JSON.stringify(spec), Status: 'queued', Version: '0' },
      ]),
    write: (row) => database.insertRows('jobs', [toRow(row)]),
    // A job may be paused twice, so each word has a token of its own.
    order: (id, order) =>
      database.insertRows('jobs', [{ Id: id, Word: 'order', Status: order }], randomUUID()),
    leave: (id, reason) =>
      database.insertRows('jobs', [{ Id: id, Word: 'left', Error: reason }], randomUUID()),
    listOpen: () => readJobs(database, `Status IN ('queued', 'running')`, {}),
    listEqual: (task) => listEqual(database, task),
    list: async ({ kind, tenant }, { limit, after }) => {
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
    find: async (id) => (await readJobs(database, 'Id = {id:String}', { id }))[0],
  };
}

/** The length leaves few specifications to compare: another order of the keys does not change it. */
async function listEqual(database: Database, { kind, tenant, spec }: JobTask): Promise<Job[]> {
  const similar = await readJobs(
    database,
    'Kind = {kind:String} AND Tenant = {tenant:String} AND length(Spec) = {bytes:UInt32}',
    { kind, tenant, bytes: Buffer.byteLength(JSON.stringify(spec)) },
  );
  const wanted = canonicalJson(spec);
  return similar.filter((job) => canonicalJson(job.spec) === wanted);
}

interface StoredRow {
  id: string;
  kind: string;
  tenant: string;
  spec: string;
  status: Exclude<JobStatus, 'paused'>;
  owner: string;
  checkpoint: string;
  report: string;
  costUsd: number;
  error: string;
  createdAtMs: string;
  startedAtMs: string | null;
  finishedAtMs: string | null;
  version: string;
}

/** Reads jobs in the order of their creation: the newest ones, with a limit. */
async function readJobs(database: Database, where: string, params: QueryParams): Promise<Job[]> {
  const rows = await database.rows<StoredRow>(
    `SELECT Id AS id, Kind AS kind, Tenant AS tenant, Spec AS spec, Status AS status, Owner AS owner,
       Checkpoint AS checkpoint, Report AS report, CostUsd AS costUsd, Error AS error,
       toUnixTimestamp64Milli(CreatedAt) AS createdAtMs, toUnixTimestamp64Milli(StartedAt) AS startedAtMs,
       toUnixTimestamp64Milli(FinishedAt) AS finishedAtMs, toString(Version) AS version
     FROM jobs FINAL WHERE Word = '' AND ${where} ORDER BY CreatedAt DESC, Id DESC
     ${params['limit'] === undefined ? '' : 'LIMIT {limit:UInt32}'}`,
    params,
  );
  const words = rows.length === 0 ? new Map<string, JobWords>() : await readWords(database, rows);
  return rows.map((row) => fromRow(row, words.get(row.id))).reverse();
}

/** Last words on a job. */
interface JobWords {
  readonly order: string;
  readonly orderedAtMs: string;
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

function fromRow(row: StoredRow, words: JobWords | undefined): Job {
  const { spec, checkpoint, report, createdAtMs, startedAtMs, finishedAtMs, ...texts } = row;
  const status = computeStatus(row.status, words?.order);
  // No process may run to store the end of a cancelled job.
  const endedAtMs = finishedAtMs ?? (status === 'cancelled' ? (words?.orderedAtMs ?? null) : null);
  return {
    ...texts,
    status,
    left: words?.left ?? '',
    spec: JSON.parse(spec) as Job['spec'],
    checkpoint: checkpoint === '' ? null : JSON.parse(checkpoint),
    report: report === '' ? {} : (JSON.parse(report) as Job['report']),
    createdAtMs: Number(createdAtMs),
    startedAtMs: fromMillis(startedAtMs),
    finishedAtMs: fromMillis(endedAtMs),
    version: Number(row.version),
  };
}

/** The word of a person counts at once, before the runner has heard it. */
function computeStatus(status: StoredRow['status'], order: string | undefined): JobStatus {
  if (status !== 'queued' && status !== 'running') {
    return status;
  }
  return order === 'cancel' ? 'cancelled' : order === 'pause' ? 'paused' : status;
}

function toRow(row: JobRow): object {
  return {
    Id: row.id,
    Kind: row.kind,
    Tenant: row.tenant,
    Spec: JSON.stringify(row.spec),
    Status: row.status,
    Owner: row.owner,
    Checkpoint: row.checkpoint === null ? '' : JSON.stringify(row.checkpoint),
    Report: JSON.stringify(row.report),
    CostUsd: row.costUsd,
    Error: row.error,
    CreatedAt: toDateTime(row.createdAtMs),
    StartedAt: row.startedAtMs === null ? null : toDateTime(row.startedAtMs),
    FinishedAt: row.finishedAtMs === null ? null : toDateTime(row.finishedAtMs),
    Version: String(row.version),
  };
}
