import type {
  HashedSubject,
  PurgeExtent,
  PurgeHashKey,
  PurgeStore,
  PurgeSubject,
} from '../contracts/purge.ts';
import type { Database } from '../database.ts';
import { type QueryParams, toDateTime } from '../values.ts';
import { hourOf } from '../sums/score-sums.ts';
import { collectBuried } from './collect-buried.ts';
import { addItems, listTraceTables } from './collect-items.ts';
import { HOLDS_ID, idParams, isId, MENTIONS_OF_ID, NAMES_ID, TEXTS } from './find-id.ts';
import { composedSql, hashParams, hashSql } from './hash-sql.ts';
import { beginMutation, waitForMutations } from './mutations.ts';
import { itemsOf, readPurgeTables } from './purge-tables.ts';
import { createPurgedJobs } from './purged-jobs.ts';

/** Most traces for which the bytes of dead letters are searched: each is searched in each letter. */
const MAX_SEARCHED = 10_000;

/** Longest text of an attribute that is compared with the hash of an id, bytes. */
const MAX_ID_BYTES = 512;

/** Creates the store of the work of purges. */
export function createPurgeStore(database: Database): PurgeStore {
  return {
    ...createPurgedJobs(database),
    collect: (jobId, subject) => collect(database, jobId, subject),
    collectByHash: (jobId, subject, key) => collectByHash(database, jobId, { ...subject, key }),
    collectBuried: (jobId, key, sinceMs) => collectBuried(database, { jobId, key, sinceMs }),
    complete: (jobId, beforeMs) => complete(database, jobId, beforeMs),
    countMentions: (jobId, subject) => countMentions(database, jobId, subject),
    readExtent: (jobId) => readExtent(database, jobId),
    bury: (jobId, key) =>
      database.insertSelected(
        `INSERT INTO tombstones (Tenant, Kind, Hash, KeyId, JobId)
         SELECT Tenant, Kind, ${hashSql('Kind', 'Tenant', composedSql('Id'))}, {keyId:String}, JobId
         FROM purge_items FINAL WHERE JobId = {jobId:String} AND Kind IN ('trace', 'session')`,
        { jobId, keyId: key.keyId, ...hashParams(key) },
      ),
    count: (jobId) => countAll(database, jobId),
    remove: (jobId, tables, signal) => removeAll(database, { jobId, tables, signal }),
    reopenSessions: (jobId) => reopenSessions(database, jobId),
    forget: (jobId) => dropItems(database, jobId, '1'),
  };
}

async function countAll(database: Database, jobId: string): Promise<Record<string, number>> {
  const counts = (await readPurgeTables(database, jobId)).map(
    ({ name, condition }) => `SELECT '${name}' AS owner, count() AS n FROM ${name} WHERE ${condition}`,
  );
  const rows = await database.rows<{ owner: string; n: string }>(
    `SELECT owner, sum(n) AS n FROM (${counts.join(' UNION ALL ')}) GROUP BY owner HAVING n > 0 ORDER BY owner`,
  );
  return Object.fromEntries(rows.map(({ owner, n }) => [owner, Number(n)]));
}

async function removeAll(
  database: Database,
  { jobId, tables, signal }: { jobId: string; tables: readonly string[]; signal: AbortSignal },
): Promise<void> {
  const known = await readPurgeTables(database, jobId);
  const changed = known.filter(({ name }) => tables.includes(name));
  for (const { name, condition, update } of changed) {
    const change = update === undefined ? 'DELETE' : `UPDATE ${update}`;
    await beginMutation(database, name, `${change} WHERE ${condition}`);
  }
  await waitForMutations(
    database,
    changed.map(({ name }) => name),
    signal,
  );
  await touchHours(database, jobId);
}

/** Has the hours of the deleted scores and decisions computed again. Tenants that are purged as a whole lose their aggregates, too. */
async function touchHours(database: Database, jobId: string): Promise<void> {
  await database.insertSelected(
    `INSERT INTO aggregate_touches (Tenant, Bucket)
     SELECT Tenant, fromUnixTimestamp64Milli(toInt64(Id)) FROM purge_items FINAL
     WHERE JobId = {jobId:String} AND Kind = 'hour' AND Tenant NOT IN (SELECT Tenant ${itemsOf(jobId, 'tenant')})`,
    { jobId },
  );
}

/** Deletes items of a job. */
async function dropItems(database: Database, jobId: string, condition: string): Promise<void> {
  await beginMutation(database, 'purge_items', `DELETE WHERE JobId = '${jobId}' AND (${condition})`);
  await waitForMutations(database, ['purge_items']);
}

async function collect(database: Database, jobId: string, subject: PurgeSubject): Promise<void> {
  const { kind, id, tenant } = subject;
  const params = { jobId, ...idParams(id), ...(tenant === undefined ? {} : { tenant }) };
  const ofTenant = tenant === undefined ? '1' : 'Tenant = {tenant:String}';
  if (kind === 'trace' || kind === 'tenant') {
    const named =
      kind === 'trace' ? `TraceId = {id:String} AND ${ofTenant}` : "Tenant = {id:String} AND TraceId != ''";
    for (const table of await listTraceTables(database)) {
      await addItems(database, 'trace', `SELECT Tenant, TraceId AS Id FROM ${table} WHERE ${named}`, params);
    }
    if (kind === 'tenant') {
      await addItems(database, 'tenant', "SELECT {id:String} AS Tenant, '' AS Id", params);
    }
    return;
  }
  for await (const { rows, day } of listRowsByDay(database, ofTenant)) {
    const named = `SELECT Tenant, TraceId AS Id FROM (${rows} AND TraceId != '') WHERE ${NAMES_ID}`;
    await addItems(database, 'trace', named, { ...params, day });
  }
  // An agent or a service may have the name of a person.
  const columns = kind === 'user' ? ['UserId', 'Agent', 'ServiceName'] : ['SessionId'];
  for (const table of ['runs', 'scores']) {
    const rows = `FROM ${table} WHERE ${isId(columns)} AND ${ofTenant}`;
    await addItems(database, 'trace', `SELECT Tenant, TraceId AS Id ${rows} AND TraceId != ''`, params);
    await addItems(
      database,
      'session',
      `SELECT Tenant, SessionId AS Id ${rows} AND SessionId != '' AND ${kind === 'session' ? '1' : "TraceId = ''"}`,
      params,
    );
  }
  await addItems(
    database,
    'letter',
    `SELECT Tenant, Id FROM (SELECT Tenant, Id, base64Decode(Body) AS text FROM dead_letters WHERE ${ofTenant}) WHERE ${HOLDS_ID}`,
    params,
  );
}

/** Lists a selection of the texts of each table and day, so that no statement reads for too long. */
async function* listRowsByDay(
  database: Database,
  condition: string,
): AsyncGenerator<{ readonly rows: string; readonly day: string }> {
  for (const [table, texts] of Object.entries(TEXTS)) {
    const days = await database.rows<{ day: string }>(
      `SELECT DISTINCT toString(toDate(ArrivedAt)) AS day FROM ${table} ORDER BY day`,
    );
    for (const { day } of days) {
      const rows = `SELECT Tenant, TraceId, ${texts} AS texts FROM ${table} WHERE toDate(ArrivedAt) = {day:Date} AND ${condition}`;
      yield { rows, day };
    }
  }
}

/** Counts the texts of what stays that name the id as a word: of spans, of log records and of reasons of scores. */
async function countMentions(
  database: Database,
  jobId: string,
  { kind, id, tenant }: PurgeSubject,
): Promise<number> {
  if (kind !== 'user' && kind !== 'session') {
    return 0;
  }
  const params = { ...idParams(id), ...(tenant === undefined ? {} : { tenant }) };
  const stays = `${tenant === undefined ? '1' : 'Tenant = {tenant:String}'}
    AND (Tenant, TraceId) NOT IN (SELECT Tenant, Id ${itemsOf(jobId, 'trace')})`;
  const count = async (rows: string, more: QueryParams): Promise<number> => {
    const sql = `SELECT toString(sum(${MENTIONS_OF_ID})) AS n FROM (${rows})`;
    const [row] = await database.rows<{ n: string }>(sql, { ...params, ...more });
    return Number(row?.n ?? 0);
  };
  const reasons = `SELECT [Reason] AS texts FROM scores FINAL WHERE ${stays}
    AND toString(ScoreId) NOT IN (SELECT Id ${itemsOf(jobId, 'score')})`;
  let mentions = await count(reasons, {});
  for await (const { rows, day } of listRowsByDay(database, stays)) {
    mentions += await count(rows, { day });
  }
  return mentions;
}

/** Texts of each table that may be the id of a user or a session, and the condition on its times. */
function listHashedTexts(kind: HashedSubject['kind']): readonly (readonly [string, string, string])[] {
  const arrived = "ArrivedAt BETWEEN {since:DateTime64(3, 'UTC')} AND {until:DateTime64(3, 'UTC')}";
  const evidence =
    "WrittenAt >= {since:DateTime64(3, 'UTC')} AND EvidenceUntil <= {until:DateTime64(3, 'UTC')}";
  const column = kind === 'session' ? 'SessionId' : 'UserId';
  return [
    ['otel_traces', TEXTS.otel_traces, arrived],
    ['otel_logs', TEXTS.otel_logs, arrived],
    ['runs', `[${column}]`, evidence],
    ['scores', `[${column}]`, evidence],
  ];
}

/** Times whose hours are sums for the pages, by the table. */
const SUMMED_TIMES = new Map([
  ['scores', 'TraceTimestamp'],
  ['decisions', 'EvidenceUntil'],
]);

/** Adds the hours of the scores and decisions that a purge deletes. */
async function addHours(
  database: Database,
  tables: readonly { readonly name: string; readonly condition: string }[],
  params: QueryParams & { readonly jobId: string },
): Promise<void> {
  for (const { name, condition } of tables) {
    const time = SUMMED_TIMES.get(name);
    if (time !== undefined) {
      const hours = `SELECT Tenant, toUnixTimestamp64Milli(${hourOf(time)}) AS Id FROM ${name} WHERE ${condition}`;
      await addItems(database, 'hour', hours, params);
    }
  }
}

async function collectByHash(
  database: Database,
  jobId: string,
  { kind, hash, tenant, sinceMs, untilMs, key }: HashedSubject & { readonly key: PurgeHashKey },
): Promise<void> {
  const params = {
    jobId,
    hash,
    since: toDateTime(sinceMs),
    until: toDateTime(untilMs),
    ...hashParams(key),
    ...(tenant === undefined ? {} : { tenant }),
  };
  const isSame = (idTenant: string, id: string) => `${hashSql(`'${kind}'`, idTenant, id)} = {hash:String}`;
  const isOfSubject = (texts: string): string => {
    if (kind === 'trace') {
      return isSame('Tenant', 'TraceId');
    }
    return kind === 'tenant'
      ? isSame("''", 'Tenant')
      : `arrayExists(text -> length(text) <= ${MAX_ID_BYTES} AND ${isSame('Tenant', composedSql('text'))}, ${texts})`;
  };
  for (const [table, texts, inTime] of listHashedTexts(kind)) {
    await addItems(
      database,
      'trace',
      `SELECT Tenant, TraceId AS Id FROM ${table}
       WHERE ${inTime} AND TraceId != '' AND ${tenant === undefined ? '1' : 'Tenant = {tenant:String}'}
         AND ${isOfSubject(texts)}`,
      params,
    );
  }
}

async function complete(database: Database, jobId: string, beforeMs: number | undefined): Promise<void> {
  const params = { jobId };
  const traces = `(SELECT Tenant, Id ${itemsOf(jobId, 'trace')})`;
  const sessions = `(SELECT Tenant, Id ${itemsOf(jobId, 'session')})`;
  const ofRun = "FROM decisions WHERE startsWith(Reason, 'part_of_run')";
  const owner = "extract(Reason, '[0-9a-f]{32}')";
  // A run that came as several traces is purged as a whole: first its owner, then all its pieces.
  await addItems(
    database,
    'trace',
    `SELECT Tenant, ${owner} AS Id ${ofRun} AND (Tenant, TraceId) IN ${traces}`,
    params,
  );
  await addItems(
    database,
    'trace',
    `SELECT Tenant, TraceId AS Id ${ofRun} AND (Tenant, ${owner}) IN ${traces}`,
    params,
  );
  if (beforeMs !== undefined) {
    await leaveOutYoung(database, jobId, beforeMs);
  }
  for (const table of ['runs', 'scores']) {
    await addItems(
      database,
      'session',
      `SELECT Tenant, SessionId AS Id FROM ${table} WHERE SessionId != '' AND (Tenant, TraceId) IN ${traces}`,
      params,
    );
  }
  for (const table of ['scores', 'score_arrivals']) {
    const ofSession = table === 'scores' ? `OR (TraceId = '' AND (Tenant, SessionId) IN ${sessions})` : '';
    await addItems(
      database,
      'score',
      `SELECT Tenant, ScoreId AS Id FROM ${table} WHERE (Tenant, TraceId) IN ${traces} ${ofSession}`,
      params,
    );
  }
  const tables = await readPurgeTables(database, jobId);
  await addHours(database, tables, params);
  // Bytes of records hold a trace id as text or in binary.
  await addItems(
    database,
    'letter',
    `WITH (SELECT groupArray(${MAX_SEARCHED + 1})(Id) ${itemsOf(jobId, 'trace')}) AS ids
     SELECT Tenant, Id FROM dead_letters WHERE Body != '' AND length(ids) <= ${MAX_SEARCHED} AND arrayExists(
       id -> position(base64Decode(Body), id) > 0 OR position(base64Decode(Body), unhex(id)) > 0, ids)`,
    params,
  );
}

/** Leaves out traces with younger data. Sessions are those of the other traces, and a tenant keeps its other rows. */
async function leaveOutYoung(database: Database, jobId: string, beforeMs: number): Promise<void> {
  const since = `toDateTime64('${toDateTime(beforeMs)}', 3, 'UTC')`;
  const young = ['runs', 'decisions', 'scores'].map(
    (table) => `SELECT Tenant, TraceId FROM ${table} WHERE EvidenceUntil >= ${since}`,
  );
  await dropItems(
    database,
    jobId,
    `Kind IN ('tenant', 'session') OR Kind = 'trace' AND (Tenant, Id) IN (
       SELECT Tenant, TraceId FROM trace_activity WHERE LastArrival >= ${since}
       UNION ALL ${young.join(' UNION ALL ')})`,
  );
}

async function readExtent(database: Database, jobId: string): Promise<PurgeExtent> {
  const [row] = await database.rows<{ traces: string; sessions: string; tenants: string[] }>(
    `SELECT countIf(Kind = 'trace') AS traces, countIf(Kind = 'session') AS sessions,
       arraySort(groupUniqArrayIf(Tenant, Kind IN ('trace', 'session', 'tenant'))) AS tenants
     FROM purge_items FINAL WHERE JobId = {jobId:String}`,
    { jobId },
  );
  return {
    traces: Number(row?.traces ?? 0),
    sessions: Number(row?.sessions ?? 0),
    tenants: row?.tenants ?? [],
  };
}

/** A turn that counts as read now makes the search find the session, which has no decision any more. */
async function reopenSessions(database: Database, jobId: string): Promise<void> {
  await database.insertSelected(
    `INSERT INTO runs SELECT * REPLACE (now64(3) AS WrittenAt) FROM runs FINAL
     WHERE Target = 'trace' AND SessionId != '' AND (Tenant, SessionId) IN (SELECT Tenant, Id ${itemsOf(jobId, 'session')})
     LIMIT 1 BY Tenant, SessionId`,
    {},
  );
}
