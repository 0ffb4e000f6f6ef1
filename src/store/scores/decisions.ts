import { BACKFILL_RULES, HELD_BACK, type Decision } from '../../domain/decision.ts';
import type { DecisionStore, DueQuery, HeldBackQuery } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { readUndecided } from '../spans/undecided.ts';
import { IN_KEYS, IN_SHARDS } from '../spans/trace-keys.ts';
import { decisionRows } from '../table-rows.ts';

/**
 * Creates the store of current decisions: one row for each (tenant, trace, target, rule, scorer), the one with the newest
 * evidence.
 */
export function createDecisionStore(database: Database): DecisionStore {
  return {
    ofTraces: (keys) =>
      decisionRows.readByTrace(
        database,
        `FROM decisions FINAL WHERE ${IN_KEYS} ORDER BY Tenant, TraceId, Target, TargetId, Rule, Scorer`,
        keys,
      ),
    write: (decisions) => decisionRows.write(database, decisions),
    undecided: (query) => readUndecided(database, query),
    due: (query) => readDue(database, query),
    heldBack: (query) => readHeldBack(database, query),
  };
}

/** Condition on the shards of decisions on sessions: their target id stands in the place of the trace id. */
const SESSION_IN_SHARDS = IN_SHARDS.replace('TraceId', 'TargetId');

const IS_DEFERRED = `Status = 'deferred' AND NOT startsWith(Rule, '${BACKFILL_RULES}')`;
const IS_HELD = `${IS_DEFERRED} AND startsWith(Reason, '${HELD_BACK}')`;
const IS_DUE = `${IS_DEFERRED} AND NextAttemptAt <= fromUnixTimestamp64Milli({until:Int64})`;

/** Returns the condition on decisions on sessions, or on traces. */
function isOfKind(ofSessions: boolean): string {
  return ofSessions ? "TraceId = ''" : "TraceId != ''";
}

/** The inner query finds candidates by the index on the status; FINAL then leaves out rows that a later one replaced. */
async function readDue(database: Database, query: DueQuery): Promise<Decision[]> {
  const { untilMs, shards, limit, ofSessions = false } = query;
  const isAsked = `${isOfKind(ofSessions)} AND NOT startsWith(Reason, '${HELD_BACK}') AND ${IS_DUE}`;
  return decisionRows.read(
    database,
    `FROM decisions FINAL
     WHERE (Tenant, TraceId) IN (
       SELECT Tenant, TraceId FROM decisions
       WHERE ${isAsked} ${shards === null ? '' : `AND ${ofSessions ? SESSION_IN_SHARDS : IN_SHARDS}`})
       AND ${isAsked} ${shards === null || !ofSessions ? '' : `AND ${SESSION_IN_SHARDS}`}
     ORDER BY NextAttemptAt, Tenant, TraceId
     LIMIT {limit:UInt32}`,
    { until: Math.trunc(untilMs), limit, ...(shards === null ? {} : { shards: [...shards] }) },
  );
}

/** The inner query finds candidates as above. */
async function readHeldBack(
  database: Database,
  { untilMs, evidenceBeforeMs, order, shards, limit, ofSessions = false }: HeldBackQuery,
): Promise<Decision[]> {
  const inShards = shards === null ? [] : [ofSessions ? SESSION_IN_SHARDS : IN_SHARDS];
  const conditions = [
    isOfKind(ofSessions),
    IS_HELD,
    ...inShards,
    ...(untilMs === undefined ? [] : ['NextAttemptAt <= fromUnixTimestamp64Milli({until:Int64})']),
    ...(evidenceBeforeMs === undefined ? [] : ['EvidenceUntil < fromUnixTimestamp64Milli({before:Int64})']),
  ].join(' AND ');
  return decisionRows.read(
    database,
    `FROM decisions FINAL
     WHERE (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM decisions WHERE ${conditions}) AND ${conditions}
     ORDER BY EvidenceUntil ${order === 'newest-first' ? 'DESC' : 'ASC'}, Tenant, TraceId, TargetId
     LIMIT {limit:UInt32}`,
    {
      until: Math.trunc(untilMs ?? 0),
      before: Math.trunc(evidenceBeforeMs ?? 0),
      limit,
      ...(shards === null ? {} : { shards: [...shards] }),
    },
  );
}
