import {
  MEASURES,
  nameMeasure,
  type AgentPast,
  type Measure,
  countTransitions,
} from '../../domain/behaviour/measures.ts';
import {
  joinAgentKey,
  MAX_AGENTS,
  MAX_PATHS,
  type AgentKey,
  type AgentPastStore,
} from '../contracts/agent-pasts.ts';
import type { Database } from '../database.ts';

/** Days of the past. */
const DAYS = 7;

/** Different paths that the store counts; further ones are left out, so that the memory has a limit. */
const MAX_COUNTED_PATHS = 200_000;

const AGENT = `toString(Tenant) AS tenant, toString(Target) AS target,
  toString(if(Agent = '', ServiceName, Agent)) AS agent`;

/** Rows of the week. Versions of a row that are not merged yet count twice, which changes no quantile by much. */
const RECENT = `Day >= today() - ${DAYS} AND ScoredAt >= now() - INTERVAL ${DAYS} DAY AND ScoredBy = '' AND IsDeleted = 0`;

/** Creates the store of the pasts of agents. */
export function createAgentPastStore(database: Database): AgentPastStore {
  return {
    async read(nameRow) {
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
    },
  };
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
