import { isToolSql } from '../spans/facts.ts';
import { DIRECTED } from './score-pairs.ts';
import { IS_RUN, MOVED_MS, type RunSumLists, selectRunSums } from './run-hours.ts';
import { READ_SETTINGS } from './score-sums.ts';
import { ROUNDING } from '../../domain/limits.ts';
import type { CostKey, CostRow, RunSumsQuery } from '../contracts/sums.ts';
import { bind, type Database } from '../database.ts';
import type { QueryParams } from '../values.ts';

/** Creates the numbers of runs, by the start of the run. */
export function createRunSums(database: Database) {
  return bind(database, { all, agents, versions, tools, models, users, passing, agentCosts, judgeCosts });
}

/** SQL for the name of an agent; one without a name goes by its service. */
export const AGENT_NAME = "toString(if(Agent != '', Agent, ServiceName))";

/** SQL for the condition that the name of an agent is one of `agent`; it compares columns, which indexes serve, in place of the computed name. */
export const IS_AGENT =
  "(Agent IN {agent:Array(String)} OR (Agent = '' AND ServiceName IN {agent:Array(String)}))";

/** SQL for the version of an agent; an agent without one has the version of its service. */
export const AGENT_VERSION = "toString(if(AgentVersion != '', AgentVersion, ServiceVersion))";

const ofTenant = (tenant: string | undefined) => (tenant === undefined ? '1' : 'Tenant = {tenant:String}');

/** Returns SQL for the conditions of a query on the agent, the environment and the tenant. */
function ofChoice({ tenant, agent, environment }: Omit<RunSumsQuery, 'fromMs' | 'toMs'>): string {
  return [
    ofTenant(tenant),
    ...(agent === undefined ? [] : [IS_AGENT]),
    ...(environment === undefined ? [] : ['Environment IN {environment:Array(String)}']),
  ].join(' AND ');
}

export function within(column: string): string {
  return `${column} >= fromUnixTimestamp64Milli({from:Int64}) AND ${column} < fromUnixTimestamp64Milli({to:Int64})`;
}

/** Returns SQL for the current runs that a query selects: the first run of each trace. Of rows with different starts the newest counts. */
function chosenRuns(query: RunSumsQuery): string {
  return `(
    SELECT * FROM run_starts
    WHERE StartedAt >= fromUnixTimestamp64Milli({from:Int64} - ${MOVED_MS}) AND StartedAt < fromUnixTimestamp64Milli({to:Int64} + ${MOVED_MS})
      AND ${ofTenant(query.tenant)}
    ORDER BY Version DESC LIMIT 1 BY Tenant, TraceId)
  WHERE ${IS_RUN} AND ${within('StartedAt')} AND ${ofChoice(query)}`;
}

export function paramsOf({ fromMs, toMs, tenant, agent, environment }: RunSumsQuery): QueryParams {
  return {
    from: Math.max(0, Math.trunc(fromMs)),
    to: Math.max(0, Math.trunc(toMs)),
    tenant,
    agent,
    environment,
  };
}

/** Runs of all agents of a choice. */
export interface AllRuns {
  readonly runs: number;
  /** Runs whose tools are known, and those of them with a tool error. */
  readonly readRuns: number;
  readonly toolErrorRuns: number;
  readonly costUsd: number | null;
  /** Runs with models and without a cost. */
  readonly unpriced: number;
}

const NO_RUNS: AllRuns = { runs: 0, readRuns: 0, toolErrorRuns: 0, costUsd: null, unpriced: 0 };

/** SQL for the cost of summed runs; NULL without a known one. */
const COST = 'if(sum(CostedRuns) = 0, NULL, sum(CostUsd)) AS';

/** Returns SQL for the sums of the runs of agents that a query selects, and its parameters. */
async function chosenSums(database: Database, query: RunSumsQuery, lists: readonly RunSumLists[] = []) {
  const chosen = `IsAgent AND ${ofChoice(query)}`;
  const { sql, params } = await selectRunSums(database, query, { chosen, lists });
  return { sums: sql, params: { ...paramsOf(query), ...params } };
}

async function all(database: Database, query: RunSumsQuery): Promise<AllRuns> {
  const { sums, params } = await chosenSums(database, query);
  const [row] = await database.rows<AllRuns>(
    `SELECT sum(Runs) AS runs, sum(ReadRuns) AS readRuns, sum(ToolErrorRuns) AS toolErrorRuns, ${COST} costUsd,
       sum(UnpricedRuns) AS unpriced
     FROM ${sums} ${READ_SETTINGS}`,
    params,
  );
  return row ?? NO_RUNS;
}

/** Runs of an agent, or of one of its versions. */
export interface AgentRuns {
  readonly agent: string;
  /** Null for all versions. */
  readonly version: string | null;
  /** Service with the most runs. */
  readonly service: string;
  readonly runs: number;
  /** Runs whose tools are known, and those of them with a tool error. */
  readonly readRuns: number;
  readonly toolErrorRuns: number;
  readonly costUsd: number | null;
  /** Models of runs without a cost. */
  readonly uncostedModels: readonly string[];
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** Mean tokens of the runs that have a count. */
  readonly tokens: number | null;
}

/** Sums the runs of each agent, and of each of its versions: those with the most runs first. */
async function agents(
  database: Database,
  query: RunSumsQuery & { readonly limit: number },
): Promise<AgentRuns[]> {
  const { sums, params } = await chosenSums(database, query, ['durations']);
  return database.rows<AgentRuns>(
    `SELECT agent, if(grouping(versionOf) = 1, NULL, versionOf) AS version, arrayElement(topKWeighted(1)(ServiceName, Runs), 1) AS service,
       sum(Runs) AS runs, sum(ReadRuns) AS readRuns, sum(ToolErrorRuns) AS toolErrorRuns, ${COST} costUsd,
       arraySort(groupUniqArrayArray(20)(UncostedModels)) AS uncostedModels,
       quantilesExactWeightedArray(0.5, 0.95)(Durations, DurationRuns)[1] AS p50Ms,
       quantilesExactWeightedArray(0.5, 0.95)(Durations, DurationRuns)[2] AS p95Ms,
       if(sum(CountedRuns) = 0, NULL, sum(Tokens) / sum(CountedRuns)) AS tokens
     FROM (SELECT *, ${AGENT_NAME} AS agent, ${AGENT_VERSION} AS versionOf FROM ${sums})
     GROUP BY GROUPING SETS ((agent), (agent, versionOf))
     ORDER BY grouping(versionOf) DESC, runs DESC, agent, version LIMIT {limit:UInt32} ${READ_SETTINGS}`,
    { ...params, limit: query.limit },
  );
}

/** Version of an agent with the start of its first run, Unix milliseconds. */
export interface FirstRun {
  readonly agent: string;
  readonly version: string;
  readonly firstMs: number;
}

/** Finds the start of the first stored run of each version. */
async function versions(
  database: Database,
  query: Omit<RunSumsQuery, 'fromMs' | 'toMs'>,
): Promise<FirstRun[]> {
  const { sums, params } = await chosenSums(database, { ...query, fromMs: 0, toMs: Infinity });
  return database.rows<FirstRun>(
    `SELECT ${AGENT_NAME} AS agent, ${AGENT_VERSION} AS version, toUnixTimestamp64Milli(min(FirstAt)) AS firstMs
     FROM ${sums} GROUP BY agent, version ${READ_SETTINGS}`,
    params,
  );
}

/** SQL for the name of a tool from a span: of its attributes, else the name of the span without the verb of OpenTelemetry. */
const TOOL_NAME = `arrayFirst(name -> name != '', [Facts['gen_ai.tool.name'], SpanAttributes['ai.toolCall.name'],
  SpanAttributes['tool.name'], SpanAttributes['traceloop.entity.name'], replaceRegexpOne(SpanName, '^execute_tool ', '')])`;

/** Calls of one tool. */
export interface ToolUse {
  readonly name: string;
  readonly calls: number;
  readonly errors: number;
  readonly p95Ms: number;
}

/** Most tools, models and users of a reply. */
const MAX_ITEMS = 50;

/** Counts the calls of tools in the spans of the chosen runs. Spans arrive after they began, up to an hour by clocks that differ. */
function tools(database: Database, query: RunSumsQuery): Promise<ToolUse[]> {
  return database.rows<ToolUse>(
    `SELECT ${TOOL_NAME} AS name, count() AS calls, countIf(StatusCode = 'Error') AS errors,
       quantileExact(0.95)(if(Duration < 9223372036854775808, Duration, 0)) / 1000000 AS p95Ms
     FROM (
       SELECT Facts, SpanAttributes, SpanName, StatusCode, Duration FROM otel_traces
       PREWHERE (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM ${chosenRuns(query)}) AND (${isToolSql((key) => `Facts['${key}']`)})
         AND ArrivedAt >= fromUnixTimestamp64Milli({from:Int64}) - INTERVAL 1 HOUR
       LIMIT 1 BY Tenant, TraceId, SpanId)
     GROUP BY name ORDER BY calls DESC, name LIMIT ${MAX_ITEMS}`,
    paramsOf(query),
  );
}

/** Runs that a model answered: each of its runs counts for each of its models, its cost for the most used one. */
export interface ModelUse {
  readonly model: string;
  readonly runs: number;
  readonly costUsd: number | null;
}

async function models(database: Database, query: RunSumsQuery): Promise<ModelUse[]> {
  const { sums, params } = await chosenSums(database, query, ['values']);
  return database.rows<ModelUse>(
    `SELECT model, sum(n) AS runs, if(sumIf(CostedRuns, model = Model) = 0, NULL, sumIf(CostUsd, model = Model)) AS costUsd
     FROM ${sums} ARRAY JOIN Models AS model, ModelRuns AS n
     GROUP BY model ORDER BY runs DESC, model LIMIT ${MAX_ITEMS} ${READ_SETTINGS}`,
    params,
  );
}

/** Runs of one user. */
export interface UserRuns {
  readonly userId: string;
  readonly runs: number;
  /** Runs with a score that fails. */
  readonly failing: number;
}

/** Query of runs by their scores. */
export interface PassingQuery extends RunSumsQuery {
  /** Directed scores from which scores pass, by the names of rows: the scores that count. */
  readonly passLines: ReadonlyMap<string, number>;
}

const lineParams = (lines: ReadonlyMap<string, number>) => ({
  lineRows: [...lines.keys()],
  lines: [...lines.values()],
});

/** SQL for whether a score passes, with the parameters of `lineParams`. */
const PASSES = `(${DIRECTED} >= transform(toString(Scorer), {lineRows:Array(String)}, {lines:Array(Float64)}, 0.) - ${ROUNDING})`;

/**
 * Returns SQL for the current live scores of runs that have a pass line. A score is never of an earlier day than its run, by the clocks of
 * both.
 */
function linedScores(query: RunSumsQuery): string {
  return `scores FINAL
    WHERE Scorer IN {lineRows:Array(String)} AND Source = 'live' AND TraceId != '' AND HigherIsBetter IS NOT NULL
      AND Day >= toDate(fromUnixTimestamp64Milli({from:Int64}, 'UTC')) - 2 AND ${within('TraceTimestamp')} AND ${ofChoice(query)}`;
}

/** Counts the runs of users, those with the most failing runs first. */
function users(database: Database, query: PassingQuery): Promise<UserRuns[]> {
  return database.rows<UserRuns>(
    `SELECT UserId AS userId, count() AS runs,
       countIf((Tenant, TraceId) IN (SELECT Tenant, TraceId FROM ${linedScores(query)} AND NOT ${PASSES})) AS failing
     FROM (SELECT Tenant, TraceId, UserId FROM ${chosenRuns(query)} AND UserId != '')
     GROUP BY userId ORDER BY failing DESC, runs DESC, userId LIMIT ${MAX_ITEMS}`,
    { ...paramsOf(query), ...lineParams(query.passLines) },
  );
}

/** Weighted runs with scores, and those of which every score passes. */
export interface PassingRuns {
  readonly runs: number;
  readonly weight: number;
  readonly squaredWeight: number;
  readonly passingWeight: number;
}

/** Sums the runs that have a score with a pass line. Of different weights of the scores of a run, the greatest counts. */
async function passing(database: Database, query: PassingQuery): Promise<PassingRuns> {
  const [row] = await database.rows<PassingRuns>(
    `SELECT count() AS runs, sum(Share) AS weight, sum(Share * Share) AS squaredWeight, sumIf(Share, Passes) AS passingWeight
     FROM (
       SELECT max(ifNull(Weight, 1)) AS Share, min(${PASSES}) AS Passes FROM ${linedScores(query)} GROUP BY Tenant, TraceId)`,
    { ...paramsOf(query), ...lineParams(query.passLines) },
  );
  return row ?? { runs: 0, weight: 0, squaredWeight: 0, passingWeight: 0 };
}

/** SQL for the key of a run in the costs of agents. */
const RUN_KEYS: Readonly<Record<Exclude<CostKey, 'rule' | 'scorer'>, string>> = {
  agent: AGENT_NAME,
  agentVersion: AGENT_VERSION,
  model: 'toString(Model)',
};

/** Costs by key and bucket. */
export interface CostQuery extends RunSumsQuery {
  readonly by: CostKey;
  readonly bucketMs: number;
}

const bucketOf = (time: string) =>
  `intDiv(toUnixTimestamp64Milli(${time}), {bucket:Int64}) * {bucket:Int64} AS bucketMs`;

/** Sums the costs of agents by the start of the run; none by rule or scorer. A run whose models have no cost is unpriced. */
async function agentCosts(database: Database, query: CostQuery): Promise<CostRow[]> {
  const { by, bucketMs } = query;
  if (by === 'rule' || by === 'scorer') {
    return [];
  }
  const { sums, params } = await chosenSums(database, query);
  return database.rows<CostRow>(
    `SELECT ${RUN_KEYS[by]} AS key, ${bucketOf('Bucket')}, ${COST} usd, sum(Runs) AS runs, sum(UnpricedRuns) AS unpriced
     FROM ${sums} GROUP BY key, bucketMs ORDER BY bucketMs, key ${READ_SETTINGS}`,
    { ...params, bucket: bucketMs },
  );
}

/** SQL for the key of a judge call. */
const CALL_KEYS: Readonly<Record<CostKey, string>> = {
  agent: 'run.AgentName',
  agentVersion: 'run.AgentVersionName',
  model: 'toString(call.Model)',
  rule: 'decided.RuleName',
  scorer: 'toString(call.Scorer)',
};

/** Returns SQL for the judge calls of a range: the table with its conditions. */
export function callsWithin({ tenant }: Pick<RunSumsQuery, 'tenant'>): string {
  return `judge_calls WHERE WrittenAt >= fromUnixTimestamp64Milli({from:Int64}) AND ${within('CalledAt')} AND ${ofTenant(tenant)}`;
}

const ofCalls = (query: RunSumsQuery) =>
  `(Tenant, TraceId) IN (SELECT Tenant, TraceId FROM ${callsWithin(query)})`;

/** Returns SQL for the runs of a choice that judge calls of a range are about: the table with its conditions. */
export function runsOfCalls(query: RunSumsQuery): string {
  return `runs FINAL WHERE Target = 'trace' AND TargetId = TraceId AND ${ofCalls(query)} AND ${ofChoice(query)}`;
}

/**
 * Sums the costs of judges by the time of the call. The run tells the agent, and the decision of the same trace and scorer the rule. A run
 * with a call without a cost is unpriced.
 */
async function judgeCosts(database: Database, query: CostQuery): Promise<CostRow[]> {
  const { by, bucketMs, agent, environment } = query;
  const calls = callsWithin(query);
  const isOfRun = by === 'agent' || by === 'agentVersion' || agent !== undefined || environment !== undefined;
  // An `ANY INNER` join would keep one call of each run.
  const run = `${agent === undefined && environment === undefined ? 'ANY LEFT' : 'SEMI LEFT'} JOIN (
    SELECT Tenant, TraceId, ${AGENT_NAME} AS AgentName, ${AGENT_VERSION} AS AgentVersionName
    FROM ${runsOfCalls(query)}) AS run
    ON call.Tenant = run.Tenant AND call.TraceId = run.TraceId`;
  const decided = `ANY LEFT JOIN (
    SELECT Tenant, TraceId, Scorer, toString(argMax(Rule, WrittenAt)) AS RuleName FROM decision_arrivals
    WHERE WrittenAt >= fromUnixTimestamp64Milli({from:Int64}) AND ${ofCalls(query)} GROUP BY Tenant, TraceId, Scorer) AS decided
    ON call.Tenant = decided.Tenant AND call.TraceId = decided.TraceId AND call.Scorer = decided.Scorer`;
  return database.rows<CostRow>(
    `SELECT ${CALL_KEYS[by]} AS key, ${bucketOf('call.CalledAt')}, sum(call.CostUsd) AS usd, uniqExact(call.Tenant, call.TraceId) AS runs,
       uniqExactIf((call.Tenant, call.TraceId), call.CostUsd IS NULL AND call.Status != 'failed') AS unpriced
     FROM (SELECT * EXCEPT (Prompt, Reply, Error) FROM ${calls}) AS call ${isOfRun ? run : ''} ${by === 'rule' ? decided : ''}
     GROUP BY key, bucketMs ORDER BY bucketMs, key`,
    { ...paramsOf(query), bucket: bucketMs },
  );
}
