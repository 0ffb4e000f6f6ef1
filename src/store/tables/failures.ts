import type { Failure, FailureSubject, IssueRow } from '../../domain/failure.ts';
import {
  type IssueCount,
  type IssueQuery,
  POINTS,
  type RunCount,
  type Signature,
} from '../contracts/issues.ts';
import type { TraceKey } from '../contracts/stores.ts';
import { bind, type Database } from '../database.ts';
import { IN_KEYS } from '../spans/trace-keys.ts';
import { failureRows, issueRows } from '../table-rows.ts';

/** Creates the store of failures and their groups. */
export function createFailureStore(database: Database) {
  return bind(database, {
    ofTraces,
    write: failureRows.write,
    signatures: readSignatures,
    relink,
    issues: readIssues,
    writeIssues: issueRows.write,
    counts: readCounts,
    runs: countRuns,
    examples: readExamples,
  });
}

export type FailureStore = ReturnType<typeof createFailureStore>;

/** Reads the current failures of these traces, keyed by `joinTraceKey`. */
function ofTraces(database: Database, keys: readonly TraceKey[]): Promise<Map<string, Failure[]>> {
  return failureRows.readByTrace(
    database,
    `FROM failures FINAL WHERE ${IN_KEYS} ORDER BY Tenant, TraceId, FailureId`,
    keys,
  );
}

/** Most signatures that are grouped: those with the most failures. */
const MAX_SIGNATURES = 50_000;

async function readSignatures(database: Database): Promise<Signature[]> {
  const first = '(TraceTimestamp, TraceId)';
  const rows = await database.rows<Omit<Signature, 'subject'> & { readonly subject: string }>(
    `SELECT toString(Tenant) AS tenant, toString(Agent) AS agent, toString(any(Kind)) AS kind, SignatureId AS signatureId,
       argMin(Subject, ${first}) AS subject, groupUniqArray(10)(IssueId) AS issueIds,
       arrayFilter(quote -> quote != '', arraySort(groupUniqArray(JSONExtractString(Subject, 'quote')))) AS quotes,
       toUnixTimestamp64Milli(min(${first}).1) AS firstSeen, min(${first}).2 AS firstTrace
     FROM failures FINAL GROUP BY Tenant, Agent, SignatureId
     ORDER BY count() DESC, signatureId LIMIT ${MAX_SIGNATURES}`,
  );
  return rows.map((row) => ({ ...row, subject: JSON.parse(row.subject) as FailureSubject }));
}

/** Writes the failures of some signatures again, under the issue that they belong to. */
async function relink(
  database: Database,
  { tenant, issueId }: Pick<IssueRow, 'tenant' | 'issueId'>,
  signatureIds: readonly string[],
): Promise<void> {
  await database.insertSelected(
    `INSERT INTO failures SELECT * REPLACE ({issueId:String} AS IssueId, now64(3) AS WrittenAt,
       toUInt64(toUnixTimestamp64Micro(now64(6))) AS Version)
     FROM (
       SELECT * FROM failures FINAL
       WHERE Tenant = {tenant:String} AND SignatureId IN {ids:Array(String)} AND IssueId != {issueId:String})`,
    { tenant, issueId, ids: [...signatureIds] },
  );
}

/** Reads the current issues of a tenant, or of all. */
function readIssues(database: Database, tenant: string | undefined): Promise<IssueRow[]> {
  return issueRows.read(
    database,
    `FROM issues FINAL ${tenant === undefined ? '' : 'WHERE Tenant = {tenant:String}'} ORDER BY FirstSeen, IssueId`,
    tenant === undefined ? {} : { tenant },
  );
}

/** Version of the agent, else of its service. */
const VERSION = "if(AgentVersion = '', ServiceVersion, AgentVersion)";

const BUCKET = (time: string) =>
  `toUInt32(least(${POINTS - 1}, intDiv((toUnixTimestamp64Milli(${time}) - {since:Int64}) * ${POINTS}, greatest(1, {until:Int64} - {since:Int64}))))`;

function conditions(query: IssueQuery, time: string) {
  const { tenant, agent, versions, issueId } = query;
  const sql = [
    `${time} >= fromUnixTimestamp64Milli({since:Int64}) AND ${time} < fromUnixTimestamp64Milli({until:Int64})`,
    ...(tenant === undefined ? [] : ['Tenant = {tenant:String}']),
    ...(versions === undefined ? [] : [`${VERSION} IN {versions:Array(String)}`]),
  ].join(' AND ');
  const given = Object.entries({ tenant, agent, versions, issueId }).filter(
    ([, value]) => value !== undefined,
  );
  return {
    sql,
    params: {
      since: Math.trunc(query.sinceMs),
      until: Math.trunc(query.untilMs),
      ...Object.fromEntries(given),
    },
  };
}

/** Row of the numbers of an issue, with its parts and versions as lists of keys and sums. */
type CountRow = Omit<IssueCount, 'points' | 'versions'> & {
  readonly parts: readonly [buckets: readonly number[], weights: readonly number[]];
  readonly byVersion: readonly [
    versions: readonly string[],
    runs: readonly number[],
    weights: readonly number[],
    excesses: readonly number[],
  ];
};

/** Counts the runs with each issue: a run with several failures of one issue counts once. */
async function readCounts(database: Database, query: IssueQuery): Promise<IssueCount[]> {
  const { sql, params } = conditions(query, 'TraceTimestamp');
  const more = `${query.agent === undefined ? '' : 'AND Agent = {agent:String}'}
    ${query.issueId === undefined ? '' : 'AND IssueId = {issueId:String}'}`;
  const known = (column: string) => `any(if(${column} = '', 0, cityHash64(${column})))`;
  const rows = await database.rows<CountRow>(
    `SELECT toString(Tenant) AS tenant, IssueId AS issueId, toFloat64(count()) AS runs, sum(w) AS weight, sum(w * (w - 1)) AS excess,
       toFloat64(uniqExactIf(user, user != 0)) AS users, toFloat64(uniqExactIf(session, session != 0)) AS sessions,
       toFloat64(min(at)) AS firstMs, toFloat64(max(at)) AS lastMs, sumMap([bucket], [w]) AS parts,
       sumMap([version], [toFloat64(1)], [w], [w * (w - 1)]) AS byVersion
     FROM (
       SELECT Tenant, IssueId, toString(any(${VERSION})) AS version, any(${BUCKET('TraceTimestamp')}) AS bucket, max(Weight) AS w,
         ${known('UserId')} AS user, ${known('SessionId')} AS session, any(toUnixTimestamp64Milli(TraceTimestamp)) AS at
       FROM failures FINAL WHERE ${sql} ${more} GROUP BY Tenant, IssueId, cityHash64(TraceId, TargetId))
     GROUP BY Tenant, IssueId`,
    params,
  );
  return rows.map(({ parts: [buckets, weights], byVersion: [names, ...sums], ...row }) => ({
    ...row,
    points: Array.from({ length: POINTS }, (_, bucket) => weights[buckets.indexOf(bucket)] ?? 0),
    versions: names.map((version, at) => ({
      version,
      runs: sums[0][at] ?? 0,
      weight: sums[1][at] ?? 0,
      excess: sums[2][at] ?? 0,
    })),
  }));
}

/** Name of the agent of a run, else its service. */
const RUN_AGENT = "if(Agent = '', ServiceName, Agent)";

/**
 * Counts all runs of the agents in a range, also those that the sample left out. The first run of a trace is read by its start; few traces
 * have a second one.
 */
function countRuns(database: Database, query: IssueQuery): Promise<RunCount[]> {
  const { sql, params } = conditions(query, 'StartedAt');
  const where = `WHERE ${sql} ${query.agent === undefined ? '' : `AND ${RUN_AGENT} = {agent:String}`}`;
  const columns = `Tenant, ${RUN_AGENT} AS agentOf, ${VERSION} AS versionOf, StartedAt`;
  return database.rows<RunCount>(
    `SELECT toString(Tenant) AS tenant, toString(agentOf) AS agent, toString(versionOf) AS version,
       ${BUCKET('StartedAt')} AS bucket, toFloat64(count()) AS runs
     FROM (
       SELECT ${columns} FROM run_starts FINAL ${where}
       UNION ALL
       SELECT ${columns} FROM runs FINAL PREWHERE Target = 'trace' AND TargetId != TraceId ${where})
     GROUP BY tenant, agent, version, bucket`,
    params,
  );
}

/** Reads the newest failures of an issue, one a run. */
function readExamples(database: Database, query: IssueQuery, limit: number): Promise<Failure[]> {
  const { sql, params } = conditions(query, 'TraceTimestamp');
  return failureRows.read(
    database,
    `FROM failures FINAL WHERE ${sql} AND IssueId = {issueId:String}
     ORDER BY TraceTimestamp DESC, TraceId LIMIT 1 BY TraceId LIMIT {limit:UInt32}`,
    { ...params, limit },
  );
}
