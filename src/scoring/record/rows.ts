import type { TargetKind } from '../../domain/agent-run.ts';
import { WHOLE_RULE, type Decision, type DecisionStatus, type Stratum } from '../../domain/decision.ts';
import { computeScoreId } from '../../domain/identity.ts';
import type { Score, ScoreSource } from '../../domain/score.ts';
import type { TraceKey } from '../../store/contracts/stores.ts';
import type { PreparedScorer } from '../select/rule.ts';
import type { AttemptCost, ScoreValue } from '../attempt/attempt-result.ts';
import type { ScoringTarget } from '../select/targets.ts';

/** Selection of a trace: stratum and probability. */
export interface Selection {
  readonly stratum: Stratum;
  readonly inclusionProbability: number;
  readonly weight: number | null;
}

/** A verdict on a whole rule. */
export function wholeRuleDecision(facts: {
  key: TraceKey;
  target: TargetKind;
  targetId: string;
  rule: string;
  status: DecisionStatus;
  reason: string;
  prior: Decision | undefined;
  selection: Selection;
  evidenceUntilMs: number;
  evidenceHash: string;
  nowMs: number;
}): Decision {
  const { prior, key } = facts;
  const changed =
    prior !== undefined && prior.evidenceHash !== '' && prior.evidenceHash !== facts.evidenceHash;
  return {
    tenant: key.tenant,
    traceId: key.traceId,
    target: facts.target,
    targetId: facts.targetId,
    rule: facts.rule,
    scorer: WHOLE_RULE,
    fingerprint: '',
    status: facts.status,
    reason: facts.reason,
    attempts: prior !== undefined && prior.evidenceUntil >= facts.evidenceUntilMs ? prior.attempts + 1 : 0,
    nextAttemptAt: null,
    ...facts.selection,
    revision: (prior?.revision ?? 1) + (changed ? 1 : 0),
    evidenceUntil: facts.evidenceUntilMs,
    evidenceHash: facts.evidenceHash,
    costUsd: null,
    decidedAt: facts.nowMs,
  };
}

/**
 * The name under which a value is stored: the scorer's own for its own score; for a further one its name where that begins
 * with the scorer's (`grounding-faithfulness` of `grounding`), else `<scorer>/<name>`.
 */
export function scoreName(scorer: string, valueName: string): string {
  if (valueName === '' || valueName.startsWith(`${scorer}-`)) {
    return valueName === '' ? scorer : valueName;
  }
  return `${scorer}/${valueName}`;
}

/** The identity of a scorer's value on a target. */
export function scoreIdFor(
  tenant: string,
  target: ScoringTarget,
  bound: PreparedScorer,
  valueName = '',
): string {
  return computeScoreId({
    tenant,
    target: target.kind,
    targetId: target.targetId,
    scorer: scoreName(bound.name, valueName),
    fingerprint: bound.fingerprint,
  });
}

/** Facts that the score rows of one attempt share. */
export interface ScoreFacts {
  readonly key: TraceKey;
  readonly target: ScoringTarget;
  readonly bound: PreparedScorer;
  readonly selection: Selection;
  readonly source: ScoreSource;
  readonly revision: number;
  readonly completeness: 'partial' | 'complete';
  readonly evidenceHash: string;
  readonly evidenceUntilMs: number;
  readonly nowMs: number;
  readonly cost: AttemptCost;
  /** Current rows of this run, scorer and fingerprint: their day is kept. */
  readonly existing: readonly Score[];
  /** Their source and selection are kept too. */
  readonly takesOver: boolean;
}

/** The score row of one value. The cost of an attempt stands on its first value's row, so that sums are right. */
export function scoreRow(facts: ScoreFacts, value: ScoreValue, isFirst: boolean): Score {
  const { key, target, bound, cost } = facts;
  const scoreId = scoreIdFor(key.tenant, target, bound, value.name);
  const former = facts.existing.find((score) => score.scoreId === scoreId);
  const origin =
    facts.takesOver && former !== undefined ? former : { ...facts.selection, source: facts.source };
  return {
    scoreId,
    tenant: key.tenant,
    traceId: key.traceId,
    target: target.kind,
    targetId: target.targetId,
    ...buildFacets(target, facts.nowMs),
    scorer: scoreName(bound.name, value.name),
    scorerVersion: bound.scorer.version ?? '',
    fingerprint: bound.fingerprint,
    promptVersion: bound.scorer.promptVersion ?? '',
    ...valueColumns(value),
    scoredAt: facts.nowMs,
    judgeModel: cost.judgeModel,
    durationMs: cost.durationMs,
    redactions: cost.redactions,
    ...(isFirst ? costColumns(cost) : NOTHING_SPENT),
    stratum: origin.stratum,
    inclusionProbability: origin.inclusionProbability,
    weight: origin.weight,
    revision: facts.revision,
    completeness: facts.completeness,
    source: origin.source,
    evidenceHash: facts.evidenceHash,
    day: former?.day ?? utcDay(facts.nowMs),
    evidenceUntil: facts.evidenceUntilMs,
    isDeleted: false,
  };
}

const NOTHING_SPENT = { inputTokens: null, outputTokens: null, costUsd: 0, judgeCalls: 0 };

function costColumns({ inputTokens, outputTokens, costUsd, judgeCalls }: AttemptCost) {
  return { inputTokens, outputTokens, costUsd, judgeCalls };
}

function valueColumns(value: ScoreValue) {
  const [scoreMin, scoreMax] = value.range ?? [null, null];
  return {
    score: value.score,
    label: value.label,
    higherIsBetter: value.higherIsBetter,
    scoreMin,
    scoreMax,
    reason: value.reason,
    verdicts: [...value.verdicts],
  };
}

function buildFacets({ run }: ScoringTarget, nowMs: number) {
  return {
    spanId: run.target.spanId,
    sessionId: run.sessionId ?? '',
    serviceName: run.service ?? '',
    serviceVersion: run.serviceVersion ?? '',
    agent: run.agent ?? '',
    agentVersion: run.agentVersion ?? '',
    environment: run.environment ?? '',
    model: run.models[0] ?? '',
    userId: run.userId ?? '',
    traceTimestamp: parseTime(run.startedAt, nowMs),
  };
}

/** The row that hides a score which later spans made untrue. */
export function buildTombstone(score: Score, evidenceUntilMs: number, nowMs: number): Score {
  return {
    ...score,
    isDeleted: true,
    evidenceUntil: Math.max(score.evidenceUntil, evidenceUntilMs),
    scoredAt: nowMs,
  };
}

function utcDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function parseTime(iso: string, fallbackMs: number): number {
  const ms = Date.parse(iso);
  return Number.isFinite(ms) ? ms : fallbackMs;
}
