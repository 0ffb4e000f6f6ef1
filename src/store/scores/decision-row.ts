import type { TargetKind } from '../../domain/trace/agent-run.ts';
import { decisionVersion, type Decision, type DecisionStatus, type Stratum } from '../../domain/decision.ts';
import { fromMillis, toDateTime } from '../values.ts';

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
  ReadByShape: boolean;
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
    ...(row.ReadByShape ? { readByShape: true } : {}),
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

/** Converts a decision to the row for an insert. */
export function toDecisionRow(decision: Decision): Record<string, unknown> {
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
    ReadByShape: decision.readByShape ?? false,
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
