import { WHOLE_RULE } from '../../domain/decision.ts';
import type { CoverageRow } from '../contracts/aggregates/coverage.ts';

/** Count of decisions as the store gives it. */
export interface StoredCount extends Omit<CoverageRow, 'decisions' | 'unweighted'> {
  readonly decisions: string;
  readonly unweighted: string;
}

/** SQL for the scorers of the rules over time, as tuples (rule, scorer, from, until), with the parameters of `cellParams`. */
export const CELLS = `arrayZip({cellRules:Array(String)}, {cellScorers:Array(String)}, {cellsSince:Array(Int64)},
  {cellsUntil:Array(Int64)})`;

/** SQL for the columns of a decision that `buildDecidedCells` needs beside those of its target and rule. */
export const CELL_COLUMNS =
  'toString(Scorer), toString(Status), toString(Reason), Weight, toUnixTimestamp64Milli(EvidenceUntil)';

/**
 * Builds the SQL of decisions by scorer, with the parameters of `cellParams`. A verdict on a whole rule becomes one row for each scorer
 * that the rule had at its time and that has no row of its own.
 * @param targets SQL of the decisions by target and rule: Tenant, TraceId, Target, TargetId, Rule and `rows`, an array of `CELL_COLUMNS`
 */
export function buildDecidedCells(targets: string): string {
  const others = `arrayMap(known -> known.2, arrayFilter(
    known -> known.1 = Rule AND known.3 <= verdict.5 AND verdict.5 < known.4 AND NOT has(arrayMap(each -> each.1, own), known.2),
    ${CELLS}))`;
  return `
  SELECT Tenant, TraceId, TargetId, toString(Rule) AS rule, cell.1 AS scorer, cell.2 AS status, cell.3 AS reason, cell.4 AS weight,
    cell.5 AS evidenceMs
  FROM (
    SELECT Tenant, TraceId, TargetId, Rule, arrayFilter(each -> each.1 != '${WHOLE_RULE}', rows) AS own,
      arrayFilter(each -> each.1 = '${WHOLE_RULE}' AND each.2 != 'scored', rows) AS verdicts,
      arrayConcat(own, arrayFlatten(arrayMap(verdict -> arrayMap(
        scorer -> (scorer, verdict.2, verdict.3, verdict.4, verdict.5),
        if(empty(own) AND empty(${others} AS found), ['${WHOLE_RULE}'], found)), verdicts))) AS cells
    FROM (${targets}))
  ARRAY JOIN cells AS cell`;
}

/** Builds the SQL of the runs of traces and sessions as a condition selects them, for `joinServices`. */
export function selectRuns(within: string): string {
  return `SELECT Tenant, TraceId, if(TraceId = '', TargetId, '') AS SessionTarget, ServiceName, Version
    FROM runs
    WHERE Target IN ('trace', 'session') AND (TraceId = '' OR TargetId = TraceId) AND ${within}`;
}

/**
 * Builds the SQL of runs that were written lately, for `joinServices`. Those of traces are found by their start: `runs` has them all
 * over its key.
 * @param written condition on the time of writing, the trace and the tenant
 */
export function selectRecentRuns(written: string): string {
  return `SELECT Tenant, TraceId, '' AS SessionTarget, ServiceName, Version FROM run_starts WHERE ${written}
    UNION ALL
    SELECT Tenant, TraceId, TargetId AS SessionTarget, ServiceName, Version
    FROM runs WHERE TraceId IN ('') AND Target = 'session' AND ${written}`;
}

/** Joins the service of each trace, and of each session (without a trace id, by its target id), as `run.Service`. */
export function joinServices(runs: string): string {
  return `LEFT JOIN (
    SELECT Tenant, TraceId, SessionTarget, argMax(ServiceName, Version) AS Service
    FROM (${runs})
    GROUP BY Tenant, TraceId, SessionTarget) AS run
    ON decided.Tenant = run.Tenant AND decided.TraceId = run.TraceId
    AND if(decided.TraceId = '', decided.TargetId, '') = run.SessionTarget`;
}
