import { DAY_MS } from '../../domain/durations.ts';
import type { Failure, FailureSubject, IssueEvent, IssueRow, StoredIssue } from '../../domain/failure.ts';
import {
  type FailingHour,
  type IssueCount,
  type IssueQuery,
  POINTS,
  type RunCount,
  type RunHour,
  type SegmentCount,
  type Signature,
  type SignatureTraces,
} from '../contracts/issues.ts';
import type { TraceKey } from '../contracts/stores.ts';
import { bind, type Database, readValue } from '../database.ts';
import { IN_KEYS } from '../spans/trace-keys.ts';
import { type RunSumLists, selectRunSums } from '../sums/run-hours.ts';
import { hourOf, READ_SETTINGS } from '../sums/score-sums.ts';
import { failureRows, issueRows } from '../table-rows.ts';
import type { QueryParams } from '../values.ts';

export function createFailureStore(database: Database) {
  return bind(database, {
    ofTraces,
    write: failureRows.write,
    signatures: readSignatures,
    relink,
    issues: readIssues,
    writeIssues: issueRows.write,
    regroup: issueRows.writeVersions,
    version: readVersion,
    unnamed: readUnnamed,
    name: writeName,
    tracesOf: readTracesOf,
    segments: readSegments,
    counts: readCounts,
    runs: countRuns,
    examples: readExamples,
    failingHours: readFailingHours,
    runHours: readRunHours,
    firstChanged: readFirstChanged,
    decide: writeDecision,
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

/** Failures that people took out of an issue (`IssueRow.split`), of all issues. */
type Splits = readonly Pick<IssueRow, 'tenant' | 'split'>[];

/** SQL for the signature of a failure as issues have it: of one that people took out, the id of its issue. */
const SIGNATURE = `transform(concat(Tenant, ' ', TraceId, ' ', SignatureId), {splitKeys:Array(String)}, {splitIds:Array(String)}, SignatureId)`;

function splitParams(issues: Splits) {
  const entries = issues.flatMap(({ tenant, split }) =>
    split.map((entry) => {
      const [traceId = '', signatureId = '', issueId = ''] = entry.split(' ');
      return [`${tenant} ${traceId} ${signatureId}`, issueId] as const;
    }),
  );
  // The engine takes no empty list; no failure has an empty key.
  const all = [['', ''] as const, ...entries];
  return { splitKeys: all.map(([key]) => key), splitIds: all.map(([, id]) => id) };
}

async function readSignatures(database: Database, splits: Splits): Promise<Signature[]> {
  const first = '(TraceTimestamp, TraceId)';
  const rows = await database.rows<Omit<Signature, 'subject'> & { readonly subject: string }>(
    `SELECT toString(Tenant) AS tenant, toString(Agent) AS agent, toString(any(Kind)) AS kind, ${SIGNATURE} AS signatureId,
       argMin(Subject, ${first}) AS subject, groupUniqArray(10)(IssueId) AS issueIds,
       arrayFilter(quote -> quote != '', arraySort(groupUniqArray(JSONExtractString(Subject, 'quote')))) AS quotes,
       toUnixTimestamp64Milli(min(${first}).1) AS firstSeen, min(${first}).2 AS firstTrace
     FROM failures FINAL GROUP BY Tenant, Agent, signatureId
     ORDER BY count() DESC, signatureId LIMIT ${MAX_SIGNATURES}`,
    splitParams(splits),
  );
  return rows.map((row) => ({ ...row, subject: JSON.parse(row.subject) as FailureSubject }));
}

/** Writes the failures of some signatures again, under the issue that they belong to. */
async function relink(
  database: Database,
  { tenant, issueId }: Pick<IssueRow, 'tenant' | 'issueId'>,
  signatureIds: readonly string[],
  splits: Splits,
): Promise<void> {
  await database.insertSelected(
    `INSERT INTO failures SELECT * REPLACE ({issueId:String} AS IssueId, now64(3) AS WrittenAt,
       toUInt64(toUnixTimestamp64Micro(now64(6))) AS Version)
     FROM (
       SELECT * FROM failures FINAL
       WHERE Tenant = {tenant:String} AND ${SIGNATURE} IN {ids:Array(String)} AND IssueId != {issueId:String})`,
    { tenant, issueId, ids: [...signatureIds], ...splitParams(splits) },
  );
}

/** Reads the current issues of a tenant, or of all. */
function readIssues(database: Database, tenant: string | undefined): Promise<StoredIssue[]> {
  return issueRows.read<Pick<StoredIssue, 'version'>>(
    database,
    `, Version AS version FROM issues FINAL ${tenant === undefined ? '' : 'WHERE Tenant = {tenant:String}'} ORDER BY FirstSeen, IssueId`,
    tenant === undefined ? {} : { tenant },
  );
}

/** Reads the version that a row would get now. */
async function readVersion(database: Database): Promise<number> {
  return (await readValue(database, 'SELECT toUInt64(toUnixTimestamp64Micro(now64(6)))')) ?? 0;
}

/** Reads open issues that no judge was asked about, issues with the newest failures first. */
function readUnnamed(database: Database, limit: number): Promise<IssueRow[]> {
  return issueRows.read(
    database,
    `FROM issues FINAL WHERE empty(Named) AND Title != '' AND State NOT IN ('resolved', 'ignored')
     ORDER BY FirstSeen DESC, IssueId LIMIT {limit:UInt32}`,
    { limit },
  );
}

/** Name of the agent of a run, else its service. */
const RUN_AGENT = "if(Agent = '', ServiceName, Agent)";

/** Version of the agent, else of its service. */
const VERSION = "if(AgentVersion = '', ServiceVersion, AgentVersion)";

/** Shortest range whose runs are counted by the hour, milliseconds: of a shorter one, reading the runs is as fast. */
const HOURLY_MS = 14 * DAY_MS;

const isHourly = ({ sinceMs, untilMs }: IssueQuery) => untilMs - sinceMs >= HOURLY_MS;

/** SQL for the part of the range of a time. */
const BUCKET = (time: string) =>
  `toUInt32(least(${POINTS - 1}, intDiv((toUnixTimestamp64Milli(${time}) - {since:Int64}) * ${POINTS}, greatest(1, {until:Int64} - {since:Int64}))))`;

function conditions(query: IssueQuery, time: string) {
  const { tenant, agent, versions, environments, issueId } = query;
  const sql = [
    `${time} >= fromUnixTimestamp64Milli({since:Int64}) AND ${time} < fromUnixTimestamp64Milli({until:Int64})`,
    ...(tenant === undefined ? [] : ['Tenant = {tenant:String}']),
    ...(versions === undefined ? [] : [`${VERSION} IN {versions:Array(String)}`]),
  ].join(' AND ');
  const given = Object.entries({ tenant, agent, versions, environments, issueId }).filter(
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

/** Condition that the run of a failure was in some environments: a failure does not name its own. */
const IN_ENVIRONMENTS = `AND (Tenant, TraceId, TargetId) IN (
  SELECT Tenant, TraceId, TargetId FROM runs FINAL
  PREWHERE (Tenant, TraceId) IN (
    SELECT Tenant, TraceId FROM failures
    WHERE TraceTimestamp >= fromUnixTimestamp64Milli({since:Int64}) AND TraceTimestamp < fromUnixTimestamp64Milli({until:Int64}))
  WHERE Environment IN {environments:Array(String)})`;

function failureConditions(query: IssueQuery) {
  const { sql, params } = conditions(query, 'TraceTimestamp');
  const more = `${query.agent === undefined ? '' : 'AND Agent = {agent:String}'}
    ${query.environments === undefined ? '' : IN_ENVIRONMENTS}
    ${query.issueId === undefined ? '' : 'AND IssueId = {issueId:String}'}`;
  return { sql: `${sql} ${more}`, params };
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
  const { sql, params } = failureConditions(query);
  const known = (column: string) => `any(if(${column} = '', 0, cityHash64(${column})))`;
  const rows = await database.rows<CountRow>(
    `SELECT toString(Tenant) AS tenant, IssueId AS issueId, toFloat64(count()) AS runs, sum(w) AS weight, sum(w * (w - 1)) AS excess,
       toFloat64(uniqExactIf(user, user != 0)) AS users, toFloat64(uniqExactIf(session, session != 0)) AS sessions,
       toFloat64(min(at)) AS firstMs, toFloat64(max(at)) AS lastMs, sumMap([bucket], [w]) AS parts,
       sumMap([version], [toFloat64(1)], [w], [w * (w - 1)]) AS byVersion
     FROM (
       SELECT Tenant, IssueId, toString(any(${VERSION})) AS version, any(${BUCKET(isHourly(query) ? hourOf('TraceTimestamp') : 'TraceTimestamp')}) AS bucket, max(Weight) AS w,
         ${known('UserId')} AS user, ${known('SessionId')} AS session, any(toUnixTimestamp64Milli(TraceTimestamp)) AS at
       FROM failures FINAL WHERE ${sql} GROUP BY Tenant, IssueId, cityHash64(TraceId, TargetId))
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

/** Returns the conditions on the runs of a query: those on their range, and further ones. */
function runConditions({ versions, agent, environments, ...range }: IssueQuery) {
  const { sql: within, params } = conditions(range, 'StartedAt');
  const chosen = [
    ...(versions === undefined ? [] : [`${VERSION} IN {versions:Array(String)}`]),
    ...(agent === undefined ? [] : [`${RUN_AGENT} = {agent:String}`]),
    ...(environments === undefined ? [] : ['Environment IN {environments:Array(String)}']),
  ].join(' AND ');
  return { within, chosen: chosen || '1', params: { ...params, versions, agent, environments } };
}

/**
 * Returns SQL for all runs of the agents in a range, also those that the sample left out: each row counts `Runs` of the hour `Bucket`. The first
 * runs of traces are read from their sums; few traces have a second run, and an index of `runs` finds them.
 * @param isExact reads each first run, with its start in the place of the hour
 */
async function selectRuns(
  database: Database,
  query: IssueQuery,
  {
    columns,
    lists = [],
    isExact = false,
  }: {
    readonly columns: string;
    readonly lists?: readonly RunSumLists[];
    readonly isExact?: boolean;
  },
) {
  const { within, chosen, params } = runConditions(query);
  const { sinceMs: fromMs, untilMs: toMs, tenant } = query;
  const sums = isExact
    ? { sql: countEach(`run_starts FINAL WHERE ${within} AND ${chosen}`, 'StartedAt'), params: {} }
    : await selectRunSums(database, { fromMs, toMs, tenant }, { chosen, lists });
  const further = `runs FINAL PREWHERE Target = 'trace' AND TargetId != TraceId WHERE ${within} AND ${chosen}`;
  return {
    sql: `(
       SELECT ${columns} FROM ${sums.sql}
       UNION ALL
       SELECT ${columns} FROM ${countEach(further, isExact ? 'StartedAt' : hourOf('StartedAt'))})`,
    params: { ...params, ...sums.params },
  };
}

/** Returns SQL for single runs with the columns of their sums. */
function countEach(from: string, bucket: string): string {
  return `(SELECT *, ${bucket} AS Bucket, StartedAt AS FirstAt, toUInt64(1) AS Runs, Models[1] AS Model,
       arrayMap(tool -> toUInt64(1), Tools) AS ToolRuns FROM ${from})`;
}

const AGENT_COLUMNS = `toString(Tenant) AS tenant, toString(${RUN_AGENT}) AS agent, toString(${VERSION}) AS version`;

/** Counts the runs of the agents by version and part of the range. */
async function countRuns(database: Database, query: IssueQuery): Promise<RunCount[]> {
  const columns = `${AGENT_COLUMNS}, Bucket, Runs`;
  const { sql, params } = await selectRuns(database, query, { columns, isExact: !isHourly(query) });
  return database.rows<RunCount>(
    `SELECT tenant, agent, version, ${BUCKET('Bucket')} AS bucket, toFloat64(sum(Runs)) AS runs
     FROM ${sql} GROUP BY tenant, agent, version, bucket ${READ_SETTINGS}`,
    params,
  );
}

/** Reads which failures of an issue are in some traces, by signature, the earliest first. */
function readTracesOf(
  database: Database,
  { tenant, issueId }: Pick<IssueRow, 'tenant' | 'issueId'>,
  traceIds: readonly string[],
): Promise<SignatureTraces[]> {
  return database.rows<SignatureTraces>(
    `SELECT SignatureId AS signatureId, groupUniqArrayIf(TraceId, isNamed) AS named, toFloat64(countIf(NOT isNamed)) AS others,
       toFloat64(toUnixTimestamp64Milli(minIf((TraceTimestamp, TraceId), isNamed).1)) AS firstSeen,
       minIf((TraceTimestamp, TraceId), isNamed).2 AS firstTrace
     FROM (SELECT *, TraceId IN {traceIds:Array(String)} AS isNamed FROM failures FINAL
       WHERE Tenant = {tenant:String} AND IssueId = {issueId:String})
     GROUP BY SignatureId ORDER BY firstSeen, firstTrace, signatureId`,
    { tenant, issueId, traceIds: [...traceIds] },
  );
}

/** Most values of a dimension that an issue shows. */
const MAX_SEGMENTS = 20;

/** Facts of runs by which an issue is counted: pairs of dimension and value. */
const FACTS = `[('version', toString(${VERSION})), ('model', toString(Model)), ('environment', toString(Environment)),
  ('service', toString(ServiceName))]`;

/** Counts the runs of the agent of an issue, and those with the issue, by facts of the runs. */
async function readSegments(database: Database, query: IssueQuery): Promise<SegmentCount[]> {
  const all = await selectRuns(database, query, {
    columns: `${FACTS} AS facts, Runs, Tools, ToolRuns`,
    lists: ['values'],
  });
  const failing = conditions(query, 'TraceTimestamp');
  const { within, chosen } = runConditions(query);
  return database.rows<SegmentCount>(
    `WITH failing AS (
       SELECT TraceId, TargetId, max(Weight) AS w FROM failures FINAL
       WHERE ${failing.sql} AND IssueId = {issueId:String} GROUP BY TraceId, TargetId)
     SELECT segment.1 AS dimension, segment.2 AS value, toFloat64(sum(segment.3)) AS all, toFloat64(sum(found)) AS runs, sum(w) AS weight,
       sum(w * greatest(0, w - 1)) AS excess
     FROM (
       SELECT arrayJoin(arrayConcat(arrayMap(fact -> (fact.1, fact.2, Runs), facts),
           arrayMap((tool, n) -> ('tool', toString(tool), n), Tools, ToolRuns))) AS segment, 0 AS found, 0. AS w
       FROM ${all.sql}
       UNION ALL
       SELECT arrayJoin(arrayMap(fact -> (fact.1, fact.2, toUInt64(0)),
           arrayConcat(facts, arrayMap(tool -> ('tool', toString(tool)), arrayDistinct(Tools))))) AS segment, 1 AS found, w
       FROM (
         SELECT TraceId, TargetId, Tools, ${FACTS} AS facts
         FROM (SELECT *, Models[1] AS Model FROM runs FINAL PREWHERE TraceId IN (SELECT TraceId FROM failing)
           WHERE Target = 'trace' AND ${within} AND ${chosen})) AS r
       INNER JOIN failing USING (TraceId, TargetId))
     WHERE segment.2 != '' GROUP BY dimension, value HAVING runs > 0
     ORDER BY dimension, runs DESC, value LIMIT ${MAX_SEGMENTS} BY dimension ${READ_SETTINGS}`,
    { ...all.params, issueId: query.issueId },
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

/** Start of the hour of a time, Unix milliseconds. */
const HOUR = (time: string) => `toFloat64(toUnixTimestamp(toStartOfHour(${time}))) * 1000`;

/** Reads the failing runs by issue, version and hour of their start. */
function readFailingHours(database: Database, query: IssueQuery): Promise<FailingHour[]> {
  const { sql, params } = failureConditions(query);
  return database.rows<FailingHour>(
    `SELECT toString(Tenant) AS tenant, IssueId AS issueId, version, hourMs, sumMap([w], [toFloat64(1)]) AS found,
       found.1 AS weights, found.2 AS counts
     FROM (
       SELECT Tenant, IssueId, TraceId, TargetId, toString(any(${VERSION})) AS version, any(${HOUR('TraceTimestamp')}) AS hourMs,
         max(Weight) AS w
       FROM failures FINAL WHERE ${sql} GROUP BY Tenant, IssueId, TraceId, TargetId)
     GROUP BY Tenant, IssueId, version, hourMs ORDER BY hourMs`,
    params,
  );
}

/** Reads the number of runs by agent, version and hour of their start. */
async function readRunHours(database: Database, query: IssueQuery): Promise<RunHour[]> {
  const { sql, params } = await selectRuns(database, query, {
    columns: `${AGENT_COLUMNS}, Bucket, FirstAt, Runs`,
  });
  return database.rows<RunHour>(
    `SELECT tenant, agent, version, toFloat64(toUnixTimestamp64Milli(Bucket)) AS hourMs, toFloat64(sum(Runs)) AS runs,
       toFloat64(toUnixTimestamp64Milli(min(FirstAt))) AS firstMs
     FROM ${sql} GROUP BY tenant, agent, version, hourMs ORDER BY hourMs ${READ_SETTINGS}`,
    params,
  );
}

/** Reads the start of the earliest run that was written since a time, itself or a failure of it; null without one. */
async function readFirstChanged(database: Database, writtenSinceMs: number): Promise<number | null> {
  const since = 'WrittenAt >= fromUnixTimestamp64Milli({since:Int64})';
  const [row] = await database.rows<{ readonly changed: string; readonly firstMs: number }>(
    `SELECT count() AS changed, toFloat64(toUnixTimestamp64Milli(min(at))) AS firstMs FROM (
       SELECT StartedAt AS at FROM runs WHERE Target = 'trace' AND ${since}
       UNION ALL SELECT TraceTimestamp AS at FROM failures WHERE ${since})`,
    { since: Math.trunc(writtenSinceMs) },
  );
  return row === undefined || Number(row.changed) === 0 ? null : row.firstMs;
}

/** Writes the state of an issue, unless a person or another process has changed it since it was read. */
function writeDecision(
  database: Database,
  issue: IssueRow,
  { state, history, verification }: Pick<IssueRow, 'state' | 'history' | 'verification'>,
): Promise<void> {
  const toText = (events: readonly IssueEvent[]) => (events.length === 0 ? '' : JSON.stringify(events));
  return rewriteIssue(database, issue, {
    columns: `{state:String} AS State, {history:String} AS History, {verification:String} AS Verification`,
    condition: 'State = {former:String} AND History = {formerHistory:String}',
    params: {
      state,
      history: toText(history),
      verification: verification === null ? '' : JSON.stringify(verification),
      former: issue.state,
      formerHistory: toText(issue.history),
    },
  });
}

/** Writes the title that a judge gave an issue, and the traces that it was made from, unless the issue has one. */
function writeName(
  database: Database,
  issue: IssueRow,
  { title, named }: Pick<IssueRow, 'title' | 'named'>,
): Promise<void> {
  return rewriteIssue(database, issue, {
    columns: '{title:String} AS Title, {named:Array(String)} AS Named',
    condition: 'empty(Named)',
    params: { title, named: [...named] },
  });
}

/** Writes some columns of an issue as it is now, where it meets a condition. */
function rewriteIssue(
  database: Database,
  { tenant, issueId }: Pick<IssueRow, 'tenant' | 'issueId'>,
  {
    columns,
    condition,
    params,
  }: { readonly columns: string; readonly condition: string; readonly params: QueryParams },
): Promise<void> {
  return database.insertSelected(
    `INSERT INTO issues SELECT * REPLACE (${columns}, now64(3) AS WrittenAt, toUInt64(toUnixTimestamp64Micro(now64(6))) AS Version)
     FROM (SELECT * FROM issues FINAL WHERE Tenant = {tenant:String} AND IssueId = {issueId:String} AND ${condition})`,
    { tenant, issueId, ...params },
  );
}
