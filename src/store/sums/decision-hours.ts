import { BACKFILL_RULES, COMMAND_RULE, WHOLE_RULE } from '../../domain/decision.ts';
import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';
import type {
  AggregateStore,
  CoverageQuery,
  CoverageRow,
  RunChoice,
  TouchedHour,
} from '../contracts/sums.ts';
import type { CoveredPair } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { pairParams } from '../spans/trace-keys.ts';
import { createProgress, hourOf, isAsked, listHours, READ_SETTINGS, replaceBuckets } from './score-sums.ts';
import { IS_RUN } from './run-hours.ts';
import { AGENT_NAME } from './run-sums.ts';
import type { QueryParams } from '../values.ts';
import { readDoneUntil } from '../tables/progress.ts';

/** Name of the progress of decisions. With a new name, the first pass computes all hours again. */
const PROGRESS = 'decision hours';

/** Days that the arrivals of decisions reach back, with a day to spare: after a longer pause all hours are computed. */
const ARRIVAL_DAYS = 29;

/**
 * Time of which all hours are computed again when an hour ends, and when a day ends. Later spans move a target to another hour; its
 * former hour loses it then.
 */
const RECENT_HOURS = 24;
const RECENT_DAYS = 31;

/**
 * Creates the computation of the numbers of decisions by the hour. Hours that have not ended are left out: they are counted when they
 * are read.
 * @param listPairs lists the scorers of each rule over time
 */
export function createDecisionHours(
  database: Database,
  nowMs: () => Promise<number>,
  listPairs: () => Promise<readonly CoveredPair[]>,
): AggregateStore {
  const listAll = async () => listHours(database, ALL_HOURS, { until: floorHour(await nowMs()) });
  return {
    nowMs,
    ...createProgress(database, PROGRESS),
    allHours: listAll,
    touchedSince: async (sinceMs) => {
      const atMs = await nowMs();
      return atMs - sinceMs > ARRIVAL_DAYS * DAY_MS ? listAll() : listTouched(database, { sinceMs, atMs });
    },
    compute: async (hours) => computeHours(database, hours, await listPairs()),
  };
}

function floorHour(atMs: number): number {
  return Math.floor(atMs / HOUR_MS) * HOUR_MS;
}

const HOUR = hourOf('EvidenceUntil');
const HAS_ENDED = 'EvidenceUntil < fromUnixTimestamp64Milli({until:Int64})';

const ALL_HOURS = `
  SELECT Tenant, ${HOUR} AS Hour, count() AS HourRows FROM decisions WHERE ${HAS_ENDED} GROUP BY Tenant, Hour
  UNION ALL SELECT Tenant, Bucket, 0 FROM decision_hours GROUP BY Tenant, Bucket`;

const WRITTEN = 'WrittenAt >= fromUnixTimestamp64Milli({since:Int64})';

const TOUCHED_HOURS = `
  SELECT Tenant, ${HOUR} AS Hour, count() AS HourRows FROM decision_arrivals WHERE ${WRITTEN} AND ${HAS_ENDED} GROUP BY Tenant, Hour
  UNION ALL SELECT Tenant, Bucket, 0 FROM aggregate_touches
    WHERE ${WRITTEN} AND Bucket < fromUnixTimestamp64Milli({until:Int64}) GROUP BY Tenant, Bucket
  UNION ALL SELECT Tenant, Bucket, sum(Decisions) FROM decision_hours FINAL
    WHERE Bucket >= fromUnixTimestamp64Milli({recent:Int64}) GROUP BY Tenant, Bucket`;

/** Hours that have ended since the last pass: earlier passes left them out, whenever their decisions were written. */
const NEWLY_ENDED_HOURS = `
  UNION ALL SELECT Tenant, ${HOUR} AS Hour, count() FROM decisions
    WHERE EvidenceUntil >= fromUnixTimestamp64Milli({ended:Int64}) AND ${HAS_ENDED} GROUP BY Tenant, Hour`;

function listTouched(
  database: Database,
  { sinceMs, atMs }: { readonly sinceMs: number; readonly atMs: number },
): Promise<TouchedHour[]> {
  const hasEnded = (ms: number) => Math.floor(sinceMs / ms) < Math.floor(atMs / ms);
  const recentMs = hasEnded(DAY_MS)
    ? atMs - RECENT_DAYS * DAY_MS
    : hasEnded(HOUR_MS)
      ? atMs - RECENT_HOURS * HOUR_MS
      : atMs;
  return listHours(database, hasEnded(HOUR_MS) ? TOUCHED_HOURS + NEWLY_ENDED_HOURS : TOUCHED_HOURS, {
    since: Math.max(0, Math.trunc(sinceMs)),
    until: floorHour(atMs),
    ended: Math.max(0, floorHour(sinceMs)),
    recent: Math.max(0, Math.trunc(recentMs)),
  });
}

const KEYS = 'Tenant, Bucket, RunBucket, Rule, Scorer, ServiceName, Agent, Environment, Status, Reason';

/** SQL for the decisions of the rules in force: no work of backfills and commands. */
export const IS_LIVE = `NOT startsWith(Rule, '${BACKFILL_RULES}') AND Rule != '${COMMAND_RULE}'`;

/** Start that stands for what is no run of an agent, Unix milliseconds: before all others. */
const NO_RUN_MS = -HOUR_MS;

async function computeHours(
  database: Database,
  hours: readonly TouchedHour[],
  pairs: readonly CoveredPair[],
): Promise<void> {
  const within = `EvidenceUntil >= fromUnixTimestamp64Milli({first:Int64})
    AND EvidenceUntil < fromUnixTimestamp64Milli({last:Int64} + ${HOUR_MS})`;
  const targets = `
    SELECT Tenant, TraceId, Target, TargetId, Rule, groupArray((${PAIR_COLUMNS})) AS rows
    FROM decisions FINAL WHERE ${within} AND ${isAsked(HOUR)}
    GROUP BY Tenant, TraceId, Target, TargetId, Rule`;
  await replaceBuckets(
    database,
    {
      table: 'decision_hours',
      keys: KEYS,
      columns: 'Decisions, Weight, Unweighted, Traces',
      empty: '0, 0, 0, 0',
      sums: 'sum(D), sum(W), sum(U), sum(T)',
      isEmpty: 'sum(D) + sum(T) = 0',
      rows: `
      SELECT ${KEYS}, if(grouping(Rule) = 1, 0, count()) AS D, if(grouping(Rule) = 1, 0, sum(ifNull(weight, 0))) AS W,
        if(grouping(Rule) = 1, 0, countIf(isNull(weight))) AS U,
        if(grouping(Rule) = 1, uniqExactIf(TraceId, TraceId != '' AND ${IS_LIVE}), 0) AS T
      FROM (
        SELECT *, ${hourOf('fromUnixTimestamp64Milli(evidenceMs)')} AS Bucket, ${hourOf('fromUnixTimestamp64Milli(startMs)')} AS RunBucket
        FROM (${selectDecidedRuns(targets, `SELECT Tenant, TraceId FROM decisions WHERE ${within}`)}))
      GROUP BY GROUPING SETS ((${KEYS}), (${OF_TRACES}, Status, Reason), (${OF_TRACES}))`,
    },
    { buckets: hours.map(({ tenant, hourMs }) => [tenant, hourMs]), params: pairParams(pairs) },
  );
}

const OF_TRACES = 'Tenant, Bucket, RunBucket, Agent, Environment';

/**
 * Returns SQL for decided pairs with their runs: columns of the sums, `TraceId`, `weight`, `evidenceMs`, and `startMs`, the start of the run. A
 * trace that no row of a run tells of began with its first span.
 * @param targets SQL of the decisions, for `buildDecidedPairs`
 * @param keys SQL of the tenants and traces of these decisions
 * @param written condition on runs that were written lately: those of traces are then found by their start, for `runs` has them all over
 * its key
 */
export function selectDecidedRuns(targets: string, keys: string, written?: string): string {
  const ofKeys = `(Tenant, TraceId) IN (${keys})`;
  const fact = `(toString(ServiceName), ${AGENT_NAME}, toString(Environment),
    if(${IS_RUN}, toUnixTimestamp64Milli(StartedAt), ${NO_RUN_MS})) AS fact, Version AS version`;
  const runs =
    written === undefined
      ? `SELECT Tenant, TraceId, if(TraceId = '', TargetId, '') AS SessionTarget, ${fact}
      FROM runs WHERE Target IN ('trace', 'session') AND (TraceId = '' OR TargetId = TraceId) AND ${ofKeys}`
      : `SELECT Tenant, TraceId, '' AS SessionTarget, ${fact} FROM run_starts WHERE ${written}
      UNION ALL
      SELECT Tenant, TraceId, TargetId AS SessionTarget, ${fact} FROM runs WHERE TraceId IN ('') AND Target = 'session' AND ${written}`;
  return `
  SELECT decided.Tenant AS Tenant, decided.evidenceMs AS evidenceMs, decided.rule AS Rule, decided.scorer AS Scorer,
    run.facts.1 AS ServiceName, run.facts.2 AS Agent, run.facts.3 AS Environment, decided.status AS Status,
    substringIndex(decided.reason, ':', 1) AS Reason, decided.TraceId AS TraceId, decided.weight AS weight,
    if(run.isFound, run.facts.4, ${NO_RUN_MS}) AS startMs
  FROM (${buildDecidedPairs(targets)}) AS decided
  LEFT JOIN (
    SELECT Tenant, TraceId, SessionTarget, argMax(fact, version) AS facts, true AS isFound
    FROM (
      ${runs}
      UNION ALL
      SELECT Tenant, TraceId, '', ('', '', '', intDiv(min(FirstStart), 1000000)), toUInt64(0)
      FROM trace_activity WHERE TraceId != '' AND ${ofKeys} GROUP BY Tenant, TraceId)
    GROUP BY Tenant, TraceId, SessionTarget) AS run
    ON decided.Tenant = run.Tenant AND decided.TraceId = run.TraceId
    AND if(decided.TraceId = '', decided.TargetId, '') = run.SessionTarget`;
}

/** Returns the end of the hours whose numbers are computed, Unix milliseconds; null before the first pass. */
export async function readSummedUntil(database: Database): Promise<number | null> {
  const doneMs = await readDoneUntil(database, 'aggregate', PROGRESS);
  return doneMs === null ? null : floorHour(doneMs);
}

/** Adds the numbers of hours: [fromMs, toMs). */
export function sumDecisionHours(
  database: Database,
  {
    byService = false,
    fromMs,
    toMs,
    ...choice
  }: Omit<CoverageQuery, 'sinceMs' | 'pairs'> & { readonly fromMs: number; readonly toMs: number },
): Promise<CoverageRow[]> {
  return database.rows<CoverageRow>(
    `SELECT Rule AS rule, Scorer AS scorer, ${byService ? 'ServiceName' : "''"} AS service, Status AS status, Reason AS reason,
       sum(Decisions) AS decisions, sum(Weight) AS weight, sum(Unweighted) AS unweighted
     FROM decision_hours FINAL
     WHERE Bucket >= fromUnixTimestamp64Milli({from:Int64}) AND Bucket < fromUnixTimestamp64Milli({to:Int64}) AND Rule != ''
       AND ${ofNames(choice)}
     GROUP BY rule, scorer, service, status, reason ${READ_SETTINGS}`,
    { from: fromMs, to: toMs, ...nameParams(choice) },
  );
}

/** Returns the parameters of `ofNames`. */
export function nameParams({ tenant, service, agent, environment }: RunChoice): QueryParams {
  return { tenant, service, agent, environment };
}

/** Returns SQL for the conditions on the columns of the sums; `Agent` is the name. */
export function ofNames({ tenant, service, agent, environment }: RunChoice): string {
  return [
    ...(tenant === undefined ? ['1'] : ['Tenant = {tenant:String}']),
    ...(service === undefined ? [] : ['ServiceName IN {service:Array(String)}']),
    ...(agent === undefined ? [] : ['Agent IN {agent:Array(String)}']),
    ...(environment === undefined ? [] : ['Environment IN {environment:Array(String)}']),
  ].join(' AND ');
}

/** SQL for the scorers of the rules over time, as tuples (rule, scorer, from, until), with the parameters of `pairParams`. */
export const PAIRS = `arrayZip({pairRules:Array(String)}, {pairScorers:Array(String)}, {pairsSince:Array(Int64)},
  {pairsUntil:Array(Int64)})`;

/** SQL for the columns of a decision that `buildDecidedPairs` needs beside those of its target and rule. */
export const PAIR_COLUMNS =
  'toString(Scorer), toString(Status), toString(Reason), Weight, toUnixTimestamp64Milli(EvidenceUntil)';

/**
 * Builds the SQL of decisions by scorer, with the parameters of `pairParams`. A verdict on a whole rule becomes one row for each scorer
 * that the rule had at its time and that has no row of its own.
 * @param targets SQL of the decisions by target and rule: Tenant, TraceId, Target, TargetId, Rule and `rows`, an array of `PAIR_COLUMNS`
 */
export function buildDecidedPairs(targets: string): string {
  const others = `arrayMap(known -> known.2, arrayFilter(
    known -> known.1 = Rule AND known.3 <= verdict.5 AND verdict.5 < known.4 AND NOT has(arrayMap(each -> each.1, own), known.2),
    ${PAIRS}))`;
  return `
  SELECT Tenant, TraceId, TargetId, toString(Rule) AS rule, pair.1 AS scorer, pair.2 AS status, pair.3 AS reason, pair.4 AS weight,
    pair.5 AS evidenceMs
  FROM (
    SELECT Tenant, TraceId, TargetId, Rule, arrayFilter(each -> each.1 != '${WHOLE_RULE}', rows) AS own,
      arrayFilter(each -> each.1 = '${WHOLE_RULE}' AND each.2 != 'scored', rows) AS verdicts,
      arrayConcat(own, arrayFlatten(arrayMap(verdict -> arrayMap(
        scorer -> (scorer, verdict.2, verdict.3, verdict.4, verdict.5),
        if(empty(own) AND empty(${others} AS found), ['${WHOLE_RULE}'], found)), verdicts))) AS pairs
    FROM (${targets}))
  ARRAY JOIN pairs AS pair`;
}
