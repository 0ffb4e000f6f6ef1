import { compareValues } from '../../domain/compare-values.ts';
import { WHOLE_RULE } from '../../domain/decision.ts';
import { HOUR_MS } from '../../domain/durations.ts';
import {
  asksRuns,
  type CoverageQuery,
  type CoverageReading,
  type CoverageRow,
  type WaitingCount,
  type WaitingQuery,
} from '../contracts/sums.ts';
import type { CoveredPair } from '../contracts/stores.ts';
import { bind, type Database, readValue } from '../database.ts';
import { activityColumns } from '../spans/arrivals.ts';
import { pairParams } from '../spans/trace-keys.ts';
import {
  buildDecidedPairs,
  nameParams,
  ofNames,
  PAIR_COLUMNS,
  PAIRS,
  readSummedUntil,
  selectDecidedRuns,
  sumDecisionHours,
} from './decision-hours.ts';
import { CANDIDATES, DECIDED, readRanges } from '../tables/decisions.ts';
import { IS_TURN, SESSION_ACTIVITY } from '../tables/sessions.ts';
import type { QueryParams } from '../values.ts';

/** Creates the counts of decisions. */
export function createCoverageStore(database: Database) {
  return bind(database, { decided: countDecided, waiting: countWaiting });
}

/** Time by which the clocks of replicas may differ, milliseconds. */
export const CLOCKS_MS = HOUR_MS;

export const OF_TENANT = 'AND Tenant = {tenant:String}';

/** Decisions of one query, about: more are counted in several queries, each for a range of trace ids. */
const DECISIONS_PER_QUERY = 500_000;

/** Most queries for one count. */
const MAX_PIECES = 256;

/**
 * Counts the current decisions by rule, scorer, status and reason, and by service if asked. Past hours are read from their sums: a
 * range over them has whole hours, and a target whose evidence moved to a later hour counts in both for up to an hour (a day, when its
 * former hour was more than a day ago).
 */
async function countDecided(database: Database, query: CoverageQuery): Promise<CoverageReading> {
  const sinceMs = Math.max(0, Math.trunc(query.sinceMs));
  const summedUntilMs = (await readSummedUntil(database)) ?? 0;
  if (sinceMs >= summedUntilMs) {
    return { sinceMs, rows: addUp(await countRows(database, { ...query, sinceMs })) };
  }
  const { untilMs = Infinity } = query;
  const fromMs = Math.floor(sinceMs / HOUR_MS) * HOUR_MS;
  const toMs = Math.min(summedUntilMs, Math.ceil(untilMs / HOUR_MS) * HOUR_MS);
  const [past, present] = await Promise.all([
    sumDecisionHours(database, { ...query, fromMs, toMs }),
    untilMs > summedUntilMs ? countRows(database, { ...query, sinceMs: summedUntilMs }) : [],
  ]);
  return { sinceMs: fromMs, rows: addUp([...past, ...present]) };
}

/**
 * Counts decisions in queries of limited size. A row with newer evidence is always current, so the rows since a time are enough, and
 * no FINAL over the table is needed.
 */
function countRows(database: Database, query: CoverageQuery): Promise<CoverageRow[]> {
  const { pairs, sinceMs, untilMs, tenant } = query;
  const written = Math.max(0, sinceMs - CLOCKS_MS);
  const params = {
    since: sinceMs,
    until: untilMs,
    written,
    ...nameParams(query),
    tenant,
    ...pairParams(pairs),
  };
  return readPieces<CoverageRow>(database, params, (source, piece) => countPiece(piece, source, query));
}

export const WRITTEN = 'WrittenAt >= fromUnixTimestamp64Milli({written:Int64})';

export const SINCE = `${WRITTEN} AND EvidenceUntil >= fromUnixTimestamp64Milli({since:Int64})`;

/** Table that decisions are counted in. */
export type Source = 'decisions' | 'decision_arrivals';

/** Chooses the arrivals, which are in the order of time, if they reach back far enough. */
export async function chooseSource(database: Database, sinceMs: number): Promise<Source> {
  // 0 without a row. The engine knows the minimum of each part, which it does not use for `minOrNull`.
  const sql = 'SELECT toUnixTimestamp64Milli(min(WrittenAt)) FROM decision_arrivals';
  const firstMs = (await readValue(database, sql)) ?? 0;
  return firstMs > 0 && firstMs < sinceMs ? 'decision_arrivals' : 'decisions';
}

/**
 * Reads decisions by ranges of trace ids, each with about as many as one query may count. Sessions have the id ''.
 * @param build returns the statement of a piece, from its table and its condition
 */
export async function readPieces<Row>(
  database: Database,
  params: QueryParams & { readonly written: number; readonly tenant: string | undefined },
  build: (source: Source, piece: string) => string,
): Promise<Row[]> {
  const source = await chooseSource(database, params.written);
  const ofTenant = params.tenant === undefined ? '' : OF_TENANT;
  const counted = `SELECT count() FROM ${source} WHERE ${SINCE} ${ofTenant}`;
  const decisions = (await readValue(database, counted, params)) ?? 0;
  const pieces = Math.min(MAX_PIECES, Math.ceil(decisions / DECISIONS_PER_QUERY));
  const bounds = Array.from({ length: pieces }, (_, piece) =>
    piece === 0
      ? ''
      : Math.round((piece * MAX_PIECES) / pieces)
          .toString(16)
          .padStart(2, '0'),
  );
  const found: Row[][] = [];
  for (const [piece, pieceFrom] of bounds.entries()) {
    const pieceTo = bounds[piece + 1];
    const within = `TraceId >= {pieceFrom:String} ${pieceTo === undefined ? '' : 'AND TraceId < {pieceTo:String}'} ${ofTenant}`;
    found.push(await database.rows<Row>(build(source, within), { ...params, pieceFrom, pieceTo }));
  }
  return found.flat();
}

/** Returns SQL for the current decisions of each target and rule, for `buildDecidedPairs`. */
export function currentTargets(source: Source, condition: string): string {
  return `
    SELECT Tenant, TraceId, Target, TargetId, Rule, groupArray(pair) AS rows
    FROM (
      SELECT Tenant, TraceId, Target, TargetId, Rule, argMax((${PAIR_COLUMNS}), (Version, WrittenAt)) AS pair
      FROM ${source}
      WHERE ${condition}
      GROUP BY Tenant, TraceId, Target, TargetId, Rule, Scorer)
    GROUP BY Tenant, TraceId, Target, TargetId, Rule`;
}

/** Builds the SQL of the counts of current rows. The greatest version counts, and of equal ones the last. */
function countPiece(piece: string, source: Source, query: CoverageQuery): string {
  const condition = `${SINCE} AND ${piece}`;
  const targets = currentTargets(source, condition);
  const { byService = false, untilMs } = query;
  const isOfRuns = byService || asksRuns(query);
  const decided = isOfRuns
    ? selectDecidedRuns(
        targets,
        `SELECT Tenant, TraceId FROM ${source} WHERE ${condition}`,
        `${WRITTEN} AND ${piece}`,
      )
    : `SELECT Tenant, rule AS Rule, scorer AS Scorer, status AS Status, substringIndex(reason, ':', 1) AS Reason, weight, evidenceMs
      FROM (${buildDecidedPairs(targets)})`;
  return `
  SELECT Rule AS rule, Scorer AS scorer, ${byService ? 'ServiceName' : "''"} AS service, Status AS status, Reason AS reason,
    count() AS decisions, sum(ifNull(decided.weight, 0)) AS weight, countIf(isNull(decided.weight)) AS unweighted
  FROM (${decided}) AS decided
  WHERE ${ofNames(query)} ${untilMs === undefined ? '' : 'AND evidenceMs < {until:Int64}'}
  GROUP BY rule, scorer, service, status, reason SETTINGS optimize_aggregation_in_order = 1`;
}

/** Adds counts of the same kind, in the order of their names. */
function addUp(counts: readonly CoverageRow[]): CoverageRow[] {
  const found = new Map<string, CoverageRow>();
  for (const { decisions, weight, unweighted, ...kind } of counts) {
    const name = JSON.stringify([kind.rule, kind.scorer, kind.service, kind.status, kind.reason]);
    const before = found.get(name);
    found.set(name, {
      ...kind,
      decisions: decisions + (before?.decisions ?? 0),
      weight: weight + (before?.weight ?? 0),
      unweighted: unweighted + (before?.unweighted ?? 0),
    });
  }
  return [...found].toSorted(([a], [b]) => compareValues(a, b)).map(([, row]) => row);
}

/** Counts traces and sessions without any decision of a scorer that covers them. Scorers without such are absent. */
async function countWaiting(database: Database, query: WaitingQuery): Promise<WaitingCount[]> {
  const ofSessions = query.pairs.filter((pair) => pair.ofSessions === true);
  const ofTraces = query.pairs.filter((pair) => pair.ofSessions !== true);
  const counts = new Map<string, WaitingCount>();
  const found = [
    ...(await countWaitingTraces(database, query, ofTraces)),
    ...(await countWaitingSessions(database, query, ofSessions)),
  ];
  for (const { rule, scorer, waiting } of found) {
    const name = JSON.stringify([rule, scorer]);
    const before = counts.get(name)?.waiting ?? 0;
    counts.set(name, { rule, scorer, waiting: before + waiting });
  }
  return [...counts.values()].toSorted(
    (a, b) => compareValues(a.rule, b.rule) || compareValues(a.scorer, b.scorer),
  );
}

/**
 * Returns SQL for the traces that a scorer of a rule has yet to decide, one row for each scorer: `activity`, `decided` and `pair`. With the
 * parameters `from`, `to`, `rules` and `pairParams`.
 */
export function selectWaiting(database: Database, tenant: string | undefined): string {
  return `(
     SELECT ${activityColumns(database)} FROM trace_activity
     WHERE (Tenant, TraceId) IN (${CANDIDATES}) ${tenant === undefined ? '' : OF_TENANT}
     GROUP BY Tenant, TraceId
     HAVING agentSeen AND NOT knownLate AND firstArrivalMs >= {from:Int64} AND firstArrivalMs < {to:Int64}) AS activity
   LEFT JOIN (${DECIDED}) AS decided ON activity.tenant = decided.tenant AND activity.traceId = decided.traceId
   ARRAY JOIN ${PAIRS} AS pair
   WHERE pair.3 <= activity.firstArrivalMs AND activity.firstArrivalMs < pair.4
     AND NOT arrayExists(target -> target.1 = pair.1 AND (target.2 >= 0 OR has(target.3, pair.2)), decided.targets)`;
}

/** A trace counts in the range of its first arrival, once. */
async function countWaitingTraces(
  database: Database,
  { sinceMs, nowMs, tenant }: WaitingQuery,
  pairs: readonly CoveredPair[],
): Promise<WaitingCount[]> {
  if (pairs.length === 0) {
    return [];
  }
  const found: WaitingCount[] = [];
  for (const [fromMs, toMs] of await readRanges(database, { sinceMs: Math.max(0, sinceMs), nowMs })) {
    const rows = await database.rows<WaitingCount>(
      `SELECT pair.1 AS rule, pair.2 AS scorer, count() AS waiting
       FROM ${selectWaiting(database, tenant)}
       GROUP BY rule, scorer`,
      {
        from: fromMs,
        to: toMs,
        tenant: tenant ?? '',
        rules: [...new Set(pairs.map(({ rule }) => rule))],
        ...pairParams(pairs),
      } satisfies QueryParams,
    );
    found.push(...rows);
  }
  return found;
}

async function countWaitingSessions(
  database: Database,
  { sinceMs, nowMs, tenant }: WaitingQuery,
  pairs: readonly CoveredPair[],
): Promise<WaitingCount[]> {
  if (pairs.length === 0) {
    return [];
  }
  const ofTenant = tenant === undefined ? '' : OF_TENANT;
  return database.rows<WaitingCount>(
    `SELECT pair.1 AS rule, pair.2 AS scorer, count() AS waiting
     FROM (
       SELECT ${SESSION_ACTIVITY} FROM runs
       WHERE ${IS_TURN} AND WrittenAt >= fromUnixTimestamp64Milli({since:Int64}) ${ofTenant}
       GROUP BY Tenant, SessionId) AS session
     LEFT JOIN (
       SELECT Tenant AS tenant, TargetId AS targetId, groupUniqArray((Rule, Scorer)) AS rows
       FROM decisions FINAL
       WHERE TraceId = '' AND Target = 'session' AND NOT (Scorer = '${WHOLE_RULE}' AND Status = 'scored') ${ofTenant}
       GROUP BY Tenant, TargetId) AS decided
       ON session.tenant = decided.tenant AND session.targetId = decided.targetId
     ARRAY JOIN ${PAIRS} AS pair
     WHERE pair.3 <= session.lastArrivalMs AND session.lastArrivalMs < pair.4
       AND session.lastArrivalMs < {now:Int64}
       AND NOT has(decided.rows, (pair.1, pair.2)) AND NOT has(decided.rows, (pair.1, '${WHOLE_RULE}'))
     GROUP BY rule, scorer`,
    {
      since: Math.max(0, Math.trunc(sinceMs)),
      now: Math.ceil(nowMs),
      tenant: tenant ?? '',
      ...pairParams(pairs),
    },
  );
}
