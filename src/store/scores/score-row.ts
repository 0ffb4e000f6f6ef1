import type { TargetKind } from '../../domain/trace/agent-run.ts';
import type { Stratum } from '../../domain/decision.ts';
import type { Score, ScoreSource, Verdict } from '../../domain/score.ts';
import { fromInteger, toDateTime } from '../values.ts';

/** Columns for `fromScoreRow`. Times are Unix milliseconds, with names of their own. */
export const SCORE_SELECTION = `
  * EXCEPT (TraceTimestamp, ScoredAt, EvidenceUntil, WrittenAt, Version),
  toUnixTimestamp64Milli(TraceTimestamp) AS TraceTimestampMs,
  toUnixTimestamp64Milli(ScoredAt) AS ScoredAtMs,
  toUnixTimestamp64Milli(EvidenceUntil) AS EvidenceUntilMs`;

export interface ScoreRow {
  ScoreId: string;
  Tenant: string;
  TraceId: string;
  SpanId: string;
  Target: string;
  TargetId: string;
  SessionId: string;
  Scorer: string;
  ScorerVersion: string;
  Fingerprint: string;
  JudgeModel: string;
  PromptVersion: string;
  Score: number;
  Label: string;
  HigherIsBetter: boolean | null;
  ScoreMin: number | null;
  ScoreMax: number | null;
  Reason: string;
  Verdicts: string;
  ServiceName: string;
  ServiceVersion: string;
  Agent: string;
  AgentVersion: string;
  Environment: string;
  Model: string;
  UserId: string;
  TraceTimestampMs: string;
  ScoredAtMs: string;
  InputTokens: string | null;
  OutputTokens: string | null;
  CostUsd: number | null;
  JudgeCalls: number;
  DurationMs: number;
  Redactions: number;
  Stratum: string;
  InclusionProbability: number;
  Weight: number | null;
  Revision: number;
  Completeness: string;
  Source: string;
  ScoredBy: string;
  EvidenceHash: string;
  EvidenceUntilMs: string;
  Day: string;
  IsDeleted: number;
}

export function fromScoreRow(row: ScoreRow): Score {
  return {
    scoreId: row.ScoreId,
    tenant: row.Tenant,
    traceId: row.TraceId,
    spanId: row.SpanId,
    target: row.Target as TargetKind,
    targetId: row.TargetId,
    sessionId: row.SessionId,
    scorer: row.Scorer,
    scorerVersion: row.ScorerVersion,
    fingerprint: row.Fingerprint,
    judgeModel: row.JudgeModel,
    promptVersion: row.PromptVersion,
    score: row.Score,
    label: row.Label,
    higherIsBetter: row.HigherIsBetter,
    scoreMin: row.ScoreMin,
    scoreMax: row.ScoreMax,
    reason: row.Reason,
    verdicts: row.Verdicts === '' ? [] : (JSON.parse(row.Verdicts) as Verdict[]),
    serviceName: row.ServiceName,
    serviceVersion: row.ServiceVersion,
    agent: row.Agent,
    agentVersion: row.AgentVersion,
    environment: row.Environment,
    model: row.Model,
    userId: row.UserId,
    traceTimestamp: Number(row.TraceTimestampMs),
    scoredAt: Number(row.ScoredAtMs),
    inputTokens: fromInteger(row.InputTokens),
    outputTokens: fromInteger(row.OutputTokens),
    costUsd: row.CostUsd,
    judgeCalls: row.JudgeCalls,
    durationMs: row.DurationMs,
    redactions: row.Redactions,
    stratum: row.Stratum as Stratum,
    inclusionProbability: row.InclusionProbability,
    weight: row.Weight,
    revision: row.Revision,
    completeness: row.Completeness === 'partial' ? 'partial' : 'complete',
    source: row.Source as ScoreSource,
    scoredBy: row.ScoredBy,
    evidenceHash: row.EvidenceHash,
    day: row.Day,
    evidenceUntil: Number(row.EvidenceUntilMs),
    isDeleted: row.IsDeleted === 1,
  };
}

/** Converts a score to the row for an insert. The columns are the score's property names in PascalCase; the store computes `Version`. */
export function toScoreRow(score: Score): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(score)) {
    row[`${name.charAt(0).toUpperCase()}${name.slice(1)}`] = value as unknown;
  }
  return {
    ...row,
    Verdicts: score.verdicts.length === 0 ? '' : JSON.stringify(score.verdicts),
    TraceTimestamp: toDateTime(score.traceTimestamp),
    ScoredAt: toDateTime(score.scoredAt),
    EvidenceUntil: toDateTime(score.evidenceUntil),
    IsDeleted: score.isDeleted ? 1 : 0,
  };
}
