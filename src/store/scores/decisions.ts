import type { TargetKind } from '../../domain/agent-run.ts';
import {
  decisionVersion,
  HELD_BACK,
  type Decision,
  type DecisionStatus,
  type Stratum,
} from '../../domain/decision.ts';
import {
  joinTraceKey,
  type DecisionStore,
  type DueQuery,
  type HeldBackQuery,
  type TraceKey,
} from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { readUndecided } from '../spans/undecided.ts';
import { IN_KEYS, IN_SHARDS, keyParams, splitIntoSlices } from '../spans/trace-keys.ts';
import { fromMillis, toDateTime } from '../values.ts';

/**
 * Creates the store of current decisions: one row for each (tenant, trace, target, rule, scorer), the one with the newest
 * evidence.
 */
export function createDecisionStore(database: Database): DecisionStore {
  return {
    ofTraces: (keys) => readDecisions(database, keys),
    write: (decisions) => database.insertRows('decisions', decisions.map(toRow)),
    undecided: (query) => readUndecided(database, query),
    due: (query) => readDue(database, query),
    heldBack: (query) => readHeldBack(database, query),
  };
}

/** A row of `decisions` as the store gives it. */
export interface DecisionRow {
  Tenant: string;
  TraceId: string;
  Target: string;
  TargetId: string;
  Rule: string;
  Scorer: string;
  Fingerprint: string;
  Agent: string;
  Environment: string;
  Status: string;
  Reason: string;
  Attempts: number;
  NextAttemptAtMs: string | null;
  InclusionProbability: number;
  Weight: number | null;
  Stratum: string;
  Revision: number;
  EvidenceUntilMs: string;
  EvidenceHash: string;
  CostUsd: number | null;
  DecidedAtMs: string;
}

/** Columns for `fromDecisionRow`. Times are Unix milliseconds, with names of their own. */
export const DECISION_SELECTION = `
  * EXCEPT (NextAttemptAt, EvidenceUntil, DecidedAt, Version, WrittenAt),
  toUnixTimestamp64Milli(NextAttemptAt) AS NextAttemptAtMs,
  toUnixTimestamp64Milli(EvidenceUntil) AS EvidenceUntilMs,
  toUnixTimestamp64Milli(DecidedAt) AS DecidedAtMs`;

/** Condition on the shards of decisions on sessions: their target id stands in the place of the trace id. */
const SESSION_IN_SHARDS = IN_SHARDS.replace('TraceId', 'TargetId');

const IS_DEFERRED = `Status = 'deferred' AND NOT startsWith(Rule, 'backfill:')`;
const IS_HELD = `TraceId != '' AND ${IS_DEFERRED} AND startsWith(Reason, '${HELD_BACK}')`;
const IS_DUE = `${IS_DEFERRED} AND NextAttemptAt <= fromUnixTimestamp64Milli({until:Int64})`;

/** The inner query finds candidates by the index on the status; FINAL then leaves out rows that a later one replaced. */
async function readDue(database: Database, query: DueQuery): Promise<Decision[]> {
  const { untilMs, shards, limit, ofSessions = false } = query;
  const isOfKind = ofSessions ? "TraceId = ''" : `TraceId != '' AND NOT startsWith(Reason, '${HELD_BACK}')`;
  const isAsked = `${isOfKind} AND ${IS_DUE}`;
  const rows = await database.rows<DecisionRow>(
    `SELECT ${DECISION_SELECTION} FROM decisions FINAL
     WHERE (Tenant, TraceId) IN (
       SELECT Tenant, TraceId FROM decisions
       WHERE ${isAsked} ${shards === null ? '' : `AND ${ofSessions ? SESSION_IN_SHARDS : IN_SHARDS}`})
       AND ${isAsked} ${shards === null || !ofSessions ? '' : `AND ${SESSION_IN_SHARDS}`}
     ORDER BY NextAttemptAt, Tenant, TraceId
     LIMIT {limit:UInt32}`,
    { until: Math.trunc(untilMs), limit, ...(shards === null ? {} : { shards: [...shards] }) },
  );
  return rows.map(fromDecisionRow);
}

/** The inner query finds candidates as above. */
async function readHeldBack(
  database: Database,
  { untilMs, evidenceBeforeMs, order, shards, limit }: HeldBackQuery,
): Promise<Decision[]> {
  const conditions = [
    IS_HELD,
    ...(untilMs === undefined ? [] : ['NextAttemptAt <= fromUnixTimestamp64Milli({until:Int64})']),
    ...(evidenceBeforeMs === undefined ? [] : ['EvidenceUntil < fromUnixTimestamp64Milli({before:Int64})']),
  ].join(' AND ');
  const rows = await database.rows<DecisionRow>(
    `SELECT ${DECISION_SELECTION} FROM decisions FINAL
     WHERE (Tenant, TraceId) IN (
       SELECT Tenant, TraceId FROM decisions WHERE ${conditions} ${shards === null ? '' : `AND ${IN_SHARDS}`})
       AND ${conditions}
     ORDER BY EvidenceUntil ${order === 'newest-first' ? 'DESC' : 'ASC'}, Tenant, TraceId
     LIMIT {limit:UInt32}`,
    {
      until: Math.trunc(untilMs ?? 0),
      before: Math.trunc(evidenceBeforeMs ?? 0),
      limit,
      ...(shards === null ? {} : { shards: [...shards] }),
    },
  );
  return rows.map(fromDecisionRow);
}

async function readDecisions(
  database: Database,
  keys: readonly TraceKey[],
): Promise<Map<string, Decision[]>> {
  const found = new Map<string, Decision[]>();
  for (const slice of splitIntoSlices(keys)) {
    const rows = await database.rows<DecisionRow>(
      `SELECT ${DECISION_SELECTION} FROM decisions FINAL
       WHERE ${IN_KEYS}
       ORDER BY Tenant, TraceId, Target, TargetId, Rule, Scorer`,
      keyParams(slice),
    );
    for (const row of rows) {
      const decision = fromDecisionRow(row);
      const key = joinTraceKey(decision);
      found.set(key, [...(found.get(key) ?? []), decision]);
    }
  }
  return found;
}

export function fromDecisionRow(row: DecisionRow): Decision {
  return {
    tenant: row.Tenant,
    traceId: row.TraceId,
    target: row.Target as TargetKind,
    targetId: row.TargetId,
    rule: row.Rule,
    scorer: row.Scorer,
    fingerprint: row.Fingerprint,
    ...(row.Agent === '' ? {} : { agent: row.Agent }),
    ...(row.Environment === '' ? {} : { environment: row.Environment }),
    status: row.Status as DecisionStatus,
    reason: row.Reason,
    attempts: row.Attempts,
    nextAttemptAt: fromMillis(row.NextAttemptAtMs),
    inclusionProbability: row.InclusionProbability,
    weight: row.Weight,
    stratum: row.Stratum as Stratum,
    revision: row.Revision,
    evidenceUntil: Number(row.EvidenceUntilMs),
    evidenceHash: row.EvidenceHash,
    costUsd: row.CostUsd,
    decidedAt: Number(row.DecidedAtMs),
  };
}

function toRow(decision: Decision): Record<string, unknown> {
  return {
    Tenant: decision.tenant,
    TraceId: decision.traceId,
    Target: decision.target,
    TargetId: decision.targetId,
    Rule: decision.rule,
    Scorer: decision.scorer,
    Fingerprint: decision.fingerprint,
    Agent: decision.agent ?? '',
    Environment: decision.environment ?? '',
    Status: decision.status,
    Reason: decision.reason,
    Attempts: decision.attempts,
    NextAttemptAt: decision.nextAttemptAt === null ? null : toDateTime(decision.nextAttemptAt),
    InclusionProbability: decision.inclusionProbability,
    Weight: decision.weight,
    Stratum: decision.stratum,
    Revision: decision.revision,
    EvidenceUntil: toDateTime(decision.evidenceUntil),
    EvidenceHash: decision.evidenceHash,
    CostUsd: decision.costUsd,
    DecidedAt: toDateTime(decision.decidedAt),
    Version: String(decisionVersion(decision)),
  };
}
