import { type AgentPast, type Measure, MEASURES, nameMeasure } from '../../domain/behaviour/measures.ts';
import { countTransitions } from '../../domain/behaviour/measures.ts';
import type { Score } from '../../domain/score.ts';
import { type AgentKey, joinAgentKey, MAX_AGENTS, MAX_PATHS, type TraceKey } from '../contracts/stores.ts';
import { bind, type Database } from '../database.ts';
import { IN_KEYS, readSlices } from '../spans/trace-keys.ts';
import { scoreRows } from '../table-rows.ts';

/** Creates the store of current scores: one row for each id, the one with the newest evidence, without tombstones. */
export function createScoreStore(database: Database) {
  return bind(database, { byIds, ofTraces, write: scoreRows.write });
}

export type ScoreStore = ReturnType<typeof createScoreStore>;

/**
 * Returns SQL for the current scores of the traces of `IN_KEYS`, as rows to choose columns from. All rows of an id have the same trace, so
 * the index of traces leaves out whole ids. FINAL would look at the rows that the index leaves out, too.
 */
export function currentOfKeys(further = '1'): string {
  return `(
    SELECT * FROM scores PREWHERE ${IN_KEYS} AND ${further}
    ORDER BY Version DESC, WrittenAt DESC LIMIT 1 BY Tenant, Scorer, Day, ScoreId)
  WHERE NOT IsDeleted`;
}

/** Reads the current scores of these traces, keyed by `joinTraceKey`. */
function ofTraces(database: Database, keys: readonly TraceKey[]): Promise<Map<string, Score[]>> {
  const from = `FROM ${currentOfKeys()} ORDER BY Scorer, TargetId, ScoreId`;
  return scoreRows.readByTrace(database, from, keys);
}

/**
 * Reads scores by id. Two owners that score an id before and after midnight write it under two days: the row with the newer
 * evidence counts.
 */
async function byIds(database: Database, ids: readonly string[]): Promise<Map<string, Score>> {
  const rows = await readSlices(ids, (slice) =>
    scoreRows.read(
      database,
      `FROM scores FINAL
       WHERE ScoreId IN {ids:Array(UUID)}
       ORDER BY Version DESC LIMIT 1 BY ScoreId`,
      { ids: slice },
    ),
  );
  return new Map(rows.map((score) => [score.scoreId, score]));
}

/** Reads the scorer names in score rows, also those of earlier configurations. */
export async function readScorerNames(database: Database, tenant: string | undefined): Promise<string[]> {
  const rows = await database.rows<{ scorer: string }>(
    `SELECT DISTINCT Scorer AS scorer FROM scores
     ${tenant === undefined ? '' : 'WHERE Tenant = {tenant:String}'} ORDER BY scorer`,
    tenant === undefined ? {} : { tenant },
  );
  return rows.map(({ scorer }) => scorer);
}

/** Days of the past. */
const DAYS = 7;

/** Different paths that the store counts; further ones are left out, so that the memory has a limit. */
const MAX_COUNTED_PATHS = 200_000;

const AGENT = `toString(Tenant) AS tenant, toString(Target) AS target,
  toString(if(Agent = '', ServiceName, Agent)) AS agent`;

/** Rows of the week. Versions of a row that are not merged yet count twice, which changes no quantile by much. */
const RECENT = `Day >= today() - ${DAYS} AND ScoredAt >= now() - INTERVAL ${DAYS} DAY AND ScoredBy = '' AND IsDeleted = 0`;

/** Creates the store of the past of each agent, from the scores of `behaviour` of the last week. */
export function createAgentPastStore(database: Database) {
  return bind(database, { read: readPasts });
}

export type AgentPastStore = ReturnType<typeof createAgentPastStore>;

/**
 * Reads the pasts, keyed by `joinAgentKey`. Reads the rows of a week: a caller keeps the result.
 * @param nameRow returns the name of a score row of a measure
 */
async function readPasts(
  database: Database,
  nameRow: (measure: string) => string,
): Promise<Map<string, AgentPast>> {
  const names = new Map(MEASURES.map((measure) => [nameRow(nameMeasure(measure)), measure] as const));
  const [measures, paths] = await Promise.all([
    readMeasures(database, [...names.keys()]),
    readPaths(database, nameRow(nameMeasure('steps'))),
  ]);
  const pathsOf = Map.groupBy(paths, joinAgentKey);
  return new Map(
    [...Map.groupBy(measures, joinAgentKey)].map(([key, rows]): [string, AgentPast] => [
      key,
      {
        measures: new Map(rows.map((row) => [names.get(row.scorer) as Measure, row] as const)),
        transitions: countTransitions(pathsOf.get(key) ?? []),
      },
    ]),
  );
}

interface MeasureRow extends AgentKey {
  readonly scorer: string;
  readonly runs: number;
  readonly upperQuartile: number;
  readonly scoreMax: number;
}

/** The quantile draws by the id of the score, so that all processes get the same one. */
function readMeasures(database: Database, scorers: readonly string[]): Promise<MeasureRow[]> {
  return database.rows<MeasureRow>(
    `SELECT ${AGENT}, toString(Scorer) AS scorer, toFloat64(count()) AS runs,
       quantileDeterministic(0.75)(Score, cityHash64(ScoreId)) AS upperQuartile,
       ifNull(argMax(ScoreMax, ScoredAt), 0) AS scoreMax
     FROM scores WHERE Scorer IN {scorers:Array(String)} AND ${RECENT}
     GROUP BY tenant, target, agent, scorer
     ORDER BY runs DESC, tenant, target, agent LIMIT {limit:UInt32}`,
    { scorers: [...scorers], limit: MAX_AGENTS * MEASURES.length },
  );
}

function readPaths(
  database: Database,
  scorer: string,
): Promise<(AgentKey & { readonly path: string; readonly runs: number })[]> {
  return database.rows(
    `SELECT ${AGENT}, Reason AS path, toFloat64(count()) AS runs
     FROM scores WHERE Scorer = {scorer:String} AND ${RECENT}
     GROUP BY tenant, target, agent, path
     ORDER BY runs DESC, tenant, target, agent, path
     LIMIT ${MAX_PATHS} BY tenant, target, agent LIMIT {limit:UInt32}
     SETTINGS max_rows_to_group_by = ${MAX_COUNTED_PATHS}, group_by_overflow_mode = 'any'`,
    { scorer, limit: MAX_AGENTS * MAX_PATHS },
  );
}
