import type { DecisionStatus, StatusCounts } from '../../domain/decision.ts';
import { DAY_MS } from '../../domain/durations.ts';
import type { RunRecord } from '../../domain/run-record.ts';
import type { ScoreSource } from '../../domain/score.ts';
import type { ListedTrace, ScoreBrief } from '../contracts/lists.ts';
import { joinTraceKey, type TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { IN_KEYS, keyParams, splitIntoSlices } from '../spans/trace-keys.ts';
import { startOf } from './list-conditions.ts';

/** Trace with its run, or without one while it waits. */
export interface FoundTrace extends TraceKey {
  readonly startedAtMs: number;
  readonly run: RunRecord | null;
}

/** Adds current scores and decisions to traces. */
export async function addFacts(
  database: Database,
  traces: readonly FoundTrace[],
): Promise<readonly ListedTrace[]> {
  const [scores, decisions] = await Promise.all([
    readBriefs(database, traces),
    countDecisions(database, traces),
  ]);
  return traces.map((trace) => {
    const name = joinTraceKey(trace);
    return { ...trace, scores: scores.get(name) ?? [], decisions: decisions.get(name) ?? {} };
  });
}

interface BriefRow extends TraceKey {
  readonly scoreId: string;
  readonly scorer: string;
  readonly score: number;
  readonly label: string;
  readonly higherIsBetter: boolean | null;
  readonly source: ScoreSource;
}

/**
 * Reads the scores of traces. A score is never of an earlier day than its trace, by the clocks of both: so the primary key leaves out
 * older days.
 */
async function readBriefs(
  database: Database,
  traces: readonly FoundTrace[],
): Promise<Map<string, ScoreBrief[]>> {
  const found = new Map<string, ScoreBrief[]>();
  for (const slice of splitIntoSlices(traces)) {
    const firstMs = Math.min(Date.now(), ...slice.map(({ startedAtMs }) => startedAtMs));
    const rows = await database.rows<BriefRow>(
      `SELECT Tenant AS tenant, TraceId AS traceId, toString(ScoreId) AS scoreId, Scorer AS scorer, Score AS score, Label AS label,
         HigherIsBetter AS higherIsBetter, Source AS source
       FROM scores FINAL
       PREWHERE ${IN_KEYS} AND Day >= toDate(fromUnixTimestamp64Milli({first:Int64}, 'UTC'))
       ORDER BY Scorer, TargetId, ScoreId`,
      { ...keyParams(slice), first: startOf(firstMs - 2 * DAY_MS) },
    );
    for (const { tenant, traceId, ...brief } of rows) {
      const key = joinTraceKey({ tenant, traceId });
      found.set(key, [...(found.get(key) ?? []), brief]);
    }
  }
  return found;
}

/** Counts the current decisions of traces by status. Keyed by `joinTraceKey`. */
async function countDecisions(
  database: Database,
  keys: readonly TraceKey[],
): Promise<Map<string, StatusCounts>> {
  const found = new Map<string, StatusCounts>();
  for (const slice of splitIntoSlices(keys)) {
    const rows = await database.rows<TraceKey & { status: DecisionStatus; decisions: string }>(
      `SELECT Tenant AS tenant, TraceId AS traceId, Status AS status, count() AS decisions
       FROM decisions FINAL WHERE ${IN_KEYS} GROUP BY Tenant, TraceId, Status ORDER BY status`,
      keyParams(slice),
    );
    for (const row of rows) {
      const name = joinTraceKey(row);
      found.set(name, { ...found.get(name), [row.status]: Number(row.decisions) });
    }
  }
  return found;
}
