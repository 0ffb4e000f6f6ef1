import { StoreUnavailableError } from '../../domain/errors.ts';
import { sleep } from '../../domain/waits.ts';
import type {
  HashedSubject,
  PurgeExtent,
  PurgeHashKey,
  PurgeKind,
  PurgeSubject,
  StoredTombstone,
  Tombstone,
} from '../contracts/purge.ts';
import type { Job } from '../contracts/jobs.ts';
import { bind, type Database, readValue } from '../database.ts';
import { type QueryParams, toDateTime } from '../values.ts';
import { hourOf } from '../sums/score-sums.ts';
import { HOLDS_ID, idParams, isId, MENTIONS_OF_ID, NAMES_ID, TEXTS } from './find-id.ts';
import { itemsOf, readPurgeTables } from './purge-tables.ts';

/** Most traces for which the bytes of dead letters are searched: each is searched in each letter. */
const MAX_SEARCHED = 10_000;

/** Longest text of an attribute that is compared with the hash of an id, bytes. */
const MAX_ID_BYTES = 512;

/** First and longest wait between two looks at deletions under way, milliseconds. */
const FIRST_LOOK_MS = 20;
const LOOK_EVERY_MS = 1_000;

/** Things that a purge collects: traces, sessions, scores, dead letters, tenants, and hours whose sums are computed again. */
type ItemKind = 'trace' | 'session' | 'score' | 'letter' | 'tenant' | 'hour';

/** One way to find items: a statement that selects `Tenant` and `Id`. */
type Finding = readonly [kind: ItemKind, selection: string];

type JobParams = QueryParams & { readonly jobId: string };

/**
 * Creates the store of the work of purges: all of it finds items, and changes the rows that the items name. A step that is repeated has the
 * same result.
 */
export function createPurgeStore(database: Database) {
  return {
    ...bind(database, { collect, complete, countMentions, readExtent, count: countRows, remove: removeRows }),
    /** Collects the traces of a subject that arrived in a range of time, by the hash of its id alone. */
    async collectByHash(jobId: string, subject: HashedSubject, key: PurgeHashKey) {
      const { hash, tenant, sinceMs, untilMs } = subject;
      const params = {
        jobId,
        hash,
        since: toDateTime(sinceMs),
        until: toDateTime(untilMs),
        ...hashParams(key),
      };
      await addItems(database, findByHash(subject), tenant === undefined ? params : { ...params, tenant });
    },
    /**
     * Collects the traces and sessions that have a tombstone and rows nevertheless, and the tenants that were purged since a time (Unix
     * milliseconds): rows of a copy that is older than the tombstones.
     */
    async collectBuried(jobId: string, key: PurgeHashKey, sinceMs: number) {
      const [buried] = await database.rows('SELECT 1 FROM tombstones LIMIT 1');
      if (buried !== undefined) {
        const params = { jobId, since: toDateTime(sinceMs), ...hashParams(key) };
        // One table after the other: each statement holds all trace ids of its table.
        for (const finding of findBuried(await listTraceTables(database))) {
          await addItems(database, [finding], params);
        }
      }
    },
    /** Writes tombstones of the collected traces and sessions. */
    bury: (jobId: string, key: PurgeHashKey) =>
      database.insertSelected(
        `INSERT INTO tombstones (Tenant, Kind, Hash, KeyId, JobId)
         SELECT Tenant, Kind, ${hashSql('Kind', 'Tenant', composedSql('Id'))}, {keyId:String}, JobId
         FROM purge_items FINAL WHERE JobId = {jobId:String} AND Kind IN ('trace', 'session')`,
        { jobId, keyId: key.keyId, ...hashParams(key) },
      ),
    /**
     * Lets the collected sessions be scored again from their remaining turns: a turn that counts as read now makes the search find the
     * session, which has no decision any more.
     */
    reopenSessions: (jobId: string) =>
      database.insertSelected(
        `INSERT INTO runs SELECT * REPLACE (now64(3) AS WrittenAt) FROM runs FINAL
         WHERE Target = 'trace' AND SessionId != '' AND (Tenant, SessionId) IN (SELECT Tenant, Id ${itemsOf(jobId, 'session')})
         LIMIT 1 BY Tenant, SessionId`,
        {},
      ),
    /** Finds the texts that are ids of collected traces or sessions. */
    async findCollected(jobId: string, texts: readonly string[]): Promise<ReadonlySet<string>> {
      const rows = await database.rows<{ id: string }>(
        `SELECT DISTINCT Id AS id FROM purge_items
         WHERE JobId = {jobId:String} AND Kind IN ('trace', 'session') AND Id IN {texts:Array(String)}`,
        { jobId, texts: [...texts] },
      );
      return new Set(rows.map(({ id }) => id));
    },
    /** Replaces the specification in all rows of another job. Rows that a later one replaced are changed, too: they may stay for long. */
    replaceSpec: (id: string, spec: Job['spec']) =>
      changeRows(database, [
        ['jobs', `UPDATE Spec = ${literal(JSON.stringify(spec))} WHERE Id = ${literal(id)} AND Word = ''`],
      ]),
    /** Deletes all rows of another job. */
    removeJob: (id: string) => changeRows(database, [['jobs', `DELETE WHERE Id = ${literal(id)}`]]),
    /** Deletes all that was collected. */
    forget: (jobId: string) => dropItems(database, jobId, '1'),
  };
}

export type PurgeStore = ReturnType<typeof createPurgeStore>;

async function readExtent(database: Database, jobId: string): Promise<PurgeExtent> {
  const [row] = await database.rows<PurgeExtent>(
    `SELECT countIf(Kind = 'trace') AS traces, countIf(Kind = 'session') AS sessions,
       arraySort(groupUniqArrayIf(Tenant, Kind IN ('trace', 'session', 'tenant'))) AS tenants
     FROM purge_items FINAL WHERE JobId = {jobId:String}`,
    { jobId },
  );
  return row ?? { traces: 0, sessions: 0, tenants: [] };
}

/** Counts the rows that a purge deletes, or empties of ids, by table; without tables that have none. */
async function countRows(database: Database, jobId: string): Promise<Record<string, number>> {
  const counts = (await readPurgeTables(database, jobId)).map(
    ({ name, condition }) => `SELECT '${name}' AS owner, count() AS n FROM ${name} WHERE ${condition}`,
  );
  if (counts.length === 0) {
    return {};
  }
  const rows = await database.rows<{ owner: string; n: number }>(
    `SELECT owner, sum(n) AS n FROM (${counts.join(' UNION ALL ')}) GROUP BY owner HAVING n > 0 ORDER BY owner`,
  );
  return Object.fromEntries(rows.map(({ owner, n }) => [owner, n]));
}

/** Deletes these rows of tables. Resolves when they are gone, or when the signal is aborted. */
async function removeRows(
  database: Database,
  jobId: string,
  tables: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const changes = (await readPurgeTables(database, jobId))
    .filter(({ name }) => tables.includes(name))
    .map(({ name, condition, update }): Change => [
      name,
      `${update === undefined ? 'DELETE' : `UPDATE ${update}`} WHERE ${condition}`,
    ]);
  await changeRows(database, changes, signal);
  // The hours of the deleted scores and decisions are computed again. Tenants that are purged as a whole lose their sums, too.
  await database.insertSelected(
    `INSERT INTO aggregate_touches (Tenant, Bucket)
     SELECT Tenant, fromUnixTimestamp64Milli(toInt64(Id)) FROM purge_items FINAL
     WHERE JobId = {jobId:String} AND Kind = 'hour' AND Tenant NOT IN (SELECT Tenant ${itemsOf(jobId, 'tenant')})`,
    { jobId },
  );
}

export function createTombstoneStore(database: Database) {
  return {
    /** Stores one tombstone. */
    write: ({ kind, tenant, hash, keyId }: Tombstone, jobId: string) =>
      database.insertRows('tombstones', [
        { Tenant: tenant, Kind: kind, Hash: hash, KeyId: keyId, JobId: jobId },
      ]),
    /**
     * Reads the tombstones that were written at or after a time (Unix milliseconds by the store's clock), in batches. They may repeat
     * those of an earlier read.
     */
    async *read(sinceMs: number): AsyncGenerator<readonly StoredTombstone[]> {
      const rows = database.stream(
        `SELECT Kind, Tenant, Hash, KeyId, toUnixTimestamp64Milli(WrittenAt) FROM tombstones
         WHERE WrittenAt >= fromUnixTimestamp64Milli({sinceMs:Int64})`,
        { sinceMs: Math.max(0, Math.trunc(sinceMs)) },
      );
      for await (const batch of rows) {
        yield batch.map(({ columns }) => {
          const [kind, tenant, hash, keyId, atMs] = columns as [PurgeKind, ...string[]];
          return { kind, tenant: tenant ?? '', hash: hash ?? '', keyId: keyId ?? '', atMs: Number(atMs) };
        });
      }
    },
  };
}

export type TombstoneStore = ReturnType<typeof createTombstoneStore>;

/** Adds the items that some findings name to a job, in one insert. No finding sees the items that another finding adds. */
export async function addItems(
  database: Pick<Database, 'isReplicated' | 'rows' | 'insertSelected'>,
  findings: readonly Finding[],
  params: JobParams,
): Promise<void> {
  if (findings.length === 0) {
    return;
  }
  const settings = database.isReplicated ? await onEveryReplica(database) : '';
  const items = findings.map(
    ([kind, selection]) =>
      `SELECT '${kind}' AS kind, toString(Tenant) AS tenant, toString(Id) AS id FROM (${selection}) AS found`,
  );
  await database.insertSelected(
    `INSERT INTO purge_items (JobId, Kind, Tenant, Id) ${settings}
     SELECT DISTINCT {jobId:String}, kind, tenant, id FROM (${items.join(' UNION ALL ')})`,
    params,
  );
}

/** Returns settings of an insert that waits for every replica: each deletes what its own copy of the items names. */
async function onEveryReplica(database: Pick<Database, 'rows'>): Promise<string> {
  const replicas = await readValue(
    database,
    "SELECT max(total_replicas) FROM system.replicas WHERE database = currentDatabase() AND table = 'purge_items'",
  );
  return `SETTINGS insert_quorum = ${replicas ?? 1}`;
}

function dropItems(database: Database, jobId: string, condition: string): Promise<void> {
  return changeRows(database, [['purge_items', `DELETE WHERE JobId = '${jobId}' AND (${condition})`]]);
}

type Change = readonly [table: string, change: string];

/** SQL for a text: a mutation takes no parameters. */
function literal(text: string): string {
  return `base64Decode('${Buffer.from(text).toString('base64')}')`;
}

/**
 * Changes rows of tables, and waits until they are rewritten, however long it takes, or until the signal is aborted. Of replicas, the one
 * that answers; Keeper has the others do the same.
 */
async function changeRows(
  database: Database,
  changes: readonly Change[],
  signal?: AbortSignal,
): Promise<void> {
  const { isReplicated, name } = database;
  // The items of a job stay as they are while its rows are deleted, so all replicas delete the same.
  const settings = `mutations_sync = 0${isReplicated ? ', allow_nondeterministic_mutations = 1' : ''}`;
  for (const [table, change] of changes) {
    await database.command(`ALTER TABLE ${table} ${change} SETTINGS ${settings}`);
  }
  if (isReplicated) {
    // Another replica than the one that was asked hears of a mutation later.
    await sleep(LOOK_EVERY_MS, signal);
  }
  const tables = changes.map(([table]) => table);
  for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(2 * waitMs, LOOK_EVERY_MS)) {
    const [row] = await database.rows<{ open: number; fault: string }>(
      `SELECT count() AS open, max(latest_fail_reason) AS fault FROM system.mutations
       WHERE database = {name:String} AND table IN {tables:Array(String)} AND NOT is_done`,
      { name, tables },
    );
    if (row === undefined || row.open === 0 || signal?.aborted === true) {
      return;
    }
    if (row.fault !== '') {
      throw new StoreUnavailableError(`a deletion fails (${tables.join(', ')}): ${row.fault}`);
    }
    await sleep(waitMs, signal);
  }
}

async function listTraceTables(database: Database): Promise<string[]> {
  const tables = await readPurgeTables(database, '');
  return tables.filter(({ namesTrace }) => namesTrace).map(({ name }) => name);
}

/** Returns SQL for the hash of an id (`PurgeKey.compute`). It needs `hashParams`. The arguments are SQL expressions. */
function hashSql(kind: string, tenant: string, id: string): string {
  const text = `concat(${kind}, ':', toString(length(${tenant})), ':', ${tenant}, ':', ${id})`;
  return `lower(hex(SHA256(concat(unhex({outer:String}), SHA256(concat(unhex({inner:String}), ${text}))))))`;
}

/** Returns SQL for the form of a user's or a session's id that is hashed. */
function composedSql(id: string): string {
  return `normalizeUTF8NFC(toValidUTF8(${id}))`;
}

function hashParams({ inner, outer }: PurgeHashKey): QueryParams {
  return { inner, outer };
}

/** Returns SQL for the condition on the tenant of a subject. */
function ofTenant(tenant: string | undefined): string {
  return tenant === undefined ? '1' : 'Tenant = {tenant:String}';
}

/** Collects the traces of a subject: by its id in attributes of spans and logs, in `runs` and in `scores`. */
async function collect(database: Database, jobId: string, subject: PurgeSubject): Promise<void> {
  const { kind, id, tenant } = subject;
  const params = { jobId, ...idParams(id), ...(tenant === undefined ? {} : { tenant }) };
  const isOurs = ofTenant(tenant);
  if (kind === 'trace' || kind === 'tenant') {
    const isNamed =
      kind === 'trace' ? `TraceId = {id:String} AND ${isOurs}` : "Tenant = {id:String} AND TraceId != ''";
    const found = (await listTraceTables(database)).map((table): Finding => [
      'trace',
      `SELECT Tenant, TraceId AS Id FROM ${table} WHERE ${isNamed}`,
    ]);
    const whole: Finding = ['tenant', "SELECT {id:String} AS Tenant, '' AS Id"];
    await addItems(database, kind === 'tenant' ? [...found, whole] : found, params);
    return;
  }
  for await (const { rows, day } of listRowsByDay(database, isOurs)) {
    const named = `SELECT Tenant, TraceId AS Id FROM (${rows} AND TraceId != '') WHERE ${NAMES_ID}`;
    await addItems(database, [['trace', named]], { ...params, day });
  }
  // An agent or a service may have the name of a person.
  const columns = kind === 'user' ? ['UserId', 'Agent', 'ServiceName'] : ['SessionId'];
  const findings = ['runs', 'scores'].flatMap((table): Finding[] => {
    const rows = `FROM ${table} WHERE ${isId(columns)} AND ${isOurs}`;
    const ofSession = `SessionId != '' AND ${kind === 'session' ? '1' : "TraceId = ''"}`;
    return [
      ['trace', `SELECT Tenant, TraceId AS Id ${rows} AND TraceId != ''`],
      ['session', `SELECT Tenant, SessionId AS Id ${rows} AND ${ofSession}`],
    ];
  });
  const letters = `SELECT Tenant, Id, base64Decode(Body) AS text FROM dead_letters WHERE ${isOurs}`;
  const holding: Finding = ['letter', `SELECT Tenant, Id FROM (${letters}) WHERE ${HOLDS_ID}`];
  await addItems(database, [...findings, holding], params);
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

/**
 * Counts the texts of what stays that name the id of a user or a session as a word: of spans, of log records and of reasons of scores. A
 * person decides about them.
 */
async function countMentions(
  database: Database,
  jobId: string,
  { kind, id, tenant }: PurgeSubject,
): Promise<number> {
  if (kind !== 'user' && kind !== 'session') {
    return 0;
  }
  const params = { ...idParams(id), ...(tenant === undefined ? {} : { tenant }) };
  const stays = `${ofTenant(tenant)} AND (Tenant, TraceId) NOT IN (SELECT Tenant, Id ${itemsOf(jobId, 'trace')})`;
  const count = async (rows: string, more: QueryParams) =>
    (await readValue(database, `SELECT sum(${MENTIONS_OF_ID}) FROM (${rows})`, { ...params, ...more })) ?? 0;
  const reasons = `SELECT [Reason] AS texts FROM scores FINAL WHERE ${stays}
    AND toString(ScoreId) NOT IN (SELECT Id ${itemsOf(jobId, 'score')})`;
  let mentions = await count(reasons, {});
  for await (const { rows, day } of listRowsByDay(database, stays)) {
    mentions += await count(rows, { day });
  }
  return mentions;
}

/** Finds the traces of a subject by the hash of its id: in all texts of what arrived in a range of time. */
function findByHash({ kind, tenant }: HashedSubject): Finding[] {
  const arrived = "ArrivedAt BETWEEN {since:DateTime64(3, 'UTC')} AND {until:DateTime64(3, 'UTC')}";
  const evidence =
    "WrittenAt >= {since:DateTime64(3, 'UTC')} AND EvidenceUntil <= {until:DateTime64(3, 'UTC')}";
  const column = kind === 'session' ? 'SessionId' : 'UserId';
  const sources = [
    ['otel_traces', TEXTS.otel_traces, arrived],
    ['otel_logs', TEXTS.otel_logs, arrived],
    ['runs', `[${column}]`, evidence],
    ['scores', `[${column}]`, evidence],
  ] as const;
  const isSame = (idTenant: string, id: string) => `${hashSql(`'${kind}'`, idTenant, id)} = {hash:String}`;
  const isText = `length(text) <= ${MAX_ID_BYTES} AND ${isSame('Tenant', composedSql('text'))}`;
  const isOfSubject = (texts: string) =>
    ({
      trace: isSame('Tenant', 'TraceId'),
      tenant: isSame("''", 'Tenant'),
      session: `arrayExists(text -> ${isText}, ${texts})`,
      user: `arrayExists(text -> ${isText}, ${texts})`,
    })[kind];
  return sources.map(([table, texts, inTime]) => [
    'trace',
    `SELECT Tenant, TraceId AS Id FROM ${table}
     WHERE ${inTime} AND TraceId != '' AND ${ofTenant(tenant)} AND ${isOfSubject(texts)}`,
  ]);
}

/** Finds what has a tombstone and rows nevertheless (`PurgeStore.collectBuried`). */
function findBuried(traceTables: readonly string[]): Finding[] {
  const buried = (kind: PurgeKind) => `SELECT Hash FROM tombstones WHERE Kind = '${kind}'`;
  const traces = traceTables.map((table): Finding => [
    'trace',
    `SELECT Tenant, TraceId AS Id FROM (SELECT DISTINCT Tenant, TraceId FROM ${table} WHERE TraceId != '')
     WHERE ${hashSql("'trace'", 'Tenant', 'TraceId')} IN (${buried('trace')})`,
  ]);
  // A session that was scored again after its tombstone has younger rows only.
  const sessions = ['runs', 'scores'].map((table): Finding => [
    'session',
    `SELECT found.Tenant AS Tenant, SessionId AS Id FROM (
       SELECT Tenant, SessionId, min(WrittenAt) AS FirstWritten FROM ${table}
       WHERE TraceId = '' AND SessionId != '' GROUP BY Tenant, SessionId) AS found
     INNER JOIN (SELECT Hash, max(WrittenAt) AS BuriedAt FROM tombstones WHERE Kind = 'session' GROUP BY Hash) AS buried
       ON ${hashSql("'session'", 'found.Tenant', composedSql('SessionId'))} = buried.Hash
     WHERE FirstWritten <= BuriedAt`,
  ]);
  const tenants = ['runs', 'decisions'].map((table): Finding => [
    'tenant',
    `SELECT Tenant, '' AS Id FROM (SELECT DISTINCT Tenant FROM ${table})
     WHERE ${hashSql("'tenant'", "''", 'Tenant')} IN (${buried('tenant')} AND WrittenAt >= {since:DateTime64(3, 'UTC')})`,
  ]);
  return [...traces, ...sessions, ...tenants];
}

/** Times whose hours are sums for the pages, by the table. */
const SUMMED_TIMES = new Map([
  ['scores', 'TraceTimestamp'],
  ['decisions', 'EvidenceUntil'],
  ['run_starts', 'StartedAt'],
]);

/**
 * Adds what belongs to the collected traces: traces of the same run, sessions, scores, dead letters. Leaves out traces with data that
 * arrived at or after `beforeMs` (Unix milliseconds).
 */
async function complete(database: Database, jobId: string, beforeMs: number | undefined): Promise<void> {
  const params = { jobId };
  const traces = `(SELECT Tenant, Id ${itemsOf(jobId, 'trace')})`;
  const sessions = `(SELECT Tenant, Id ${itemsOf(jobId, 'session')})`;
  const ofRun = "FROM decisions WHERE startsWith(Reason, 'part_of_run')";
  const owner = "extract(Reason, '[0-9a-f]{32}')";
  // A run that came as several traces is purged as a whole: first its owner, then all its pieces.
  for (const pieces of [
    `SELECT Tenant, ${owner} AS Id ${ofRun} AND (Tenant, TraceId) IN ${traces}`,
    `SELECT Tenant, TraceId AS Id ${ofRun} AND (Tenant, ${owner}) IN ${traces}`,
  ]) {
    await addItems(database, [['trace', pieces]], params);
  }
  if (beforeMs !== undefined) {
    await leaveOutYoung(database, jobId, beforeMs);
  }
  const ofSessions = ['runs', 'scores'].map((table): Finding => [
    'session',
    `SELECT Tenant, SessionId AS Id FROM ${table} WHERE SessionId != '' AND (Tenant, TraceId) IN ${traces}`,
  ]);
  await addItems(database, ofSessions, params);
  const scoresOf = `WHERE (Tenant, TraceId) IN ${traces}`;
  const orOfSession = `OR (TraceId = '' AND (Tenant, SessionId) IN ${sessions})`;
  await addItems(
    database,
    [
      ['score', `SELECT Tenant, ScoreId AS Id FROM scores ${scoresOf} ${orOfSession}`],
      ['score', `SELECT Tenant, ScoreId AS Id FROM score_arrivals ${scoresOf}`],
      // Bytes of records hold a trace id as text or in binary.
      [
        'letter',
        `WITH (SELECT groupArray(${MAX_SEARCHED + 1})(Id) ${itemsOf(jobId, 'trace')}) AS ids
         SELECT Tenant, Id FROM dead_letters WHERE Body != '' AND length(ids) <= ${MAX_SEARCHED} AND arrayExists(
           id -> position(base64Decode(Body), id) > 0 OR position(base64Decode(Body), unhex(id)) > 0, ids)`,
      ],
    ],
    params,
  );
  const hours = (await readPurgeTables(database, jobId)).flatMap(({ name, condition }): Finding[] => {
    const time = SUMMED_TIMES.get(name);
    const hour = time === undefined ? '' : `toUnixTimestamp64Milli(${hourOf(time)})`;
    return hour === '' ? [] : [['hour', `SELECT Tenant, ${hour} AS Id FROM ${name} WHERE ${condition}`]];
  });
  await addItems(database, hours, params);
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
