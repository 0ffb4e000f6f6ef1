import { computeScoreId } from '../../domain/identity.ts';
import type { Score, ScoreSource } from '../../domain/score.ts';
import type { AttemptCost, ScorerAttempt, ScoreValue } from '../attempt/attempt-result.ts';
import type { Cell } from '../attempt/cell.ts';
import type { PreparedScorer } from '../select/rule.ts';
import type { ScoringTarget } from '../select/targets.ts';

// All score rows of scoring are built in this file.

/** Origin of the scores of one pass. */
export interface ScoreTerms {
  readonly source: ScoreSource;
  /** True when a row that replaces a current one keeps the source and the selection of that row. */
  readonly takesOver: boolean;
  readonly completeness: 'partial' | 'complete';
}

/** Builds the score rows of an attempt; none for an attempt that did not score. */
export function buildScoreRows(cell: Cell, attempt: ScorerAttempt, terms: ScoreTerms): Score[] {
  const { result, cost } = attempt;
  if (result.status !== 'scored' || cell.plan.action !== 'run') {
    return [];
  }
  const { revision } = cell.plan;
  const nowMs = cell.task.clock.nowMs();
  return result.values.map((value, index) => ({
    ...buildScoreRow(cell, value, { terms, revision, nowMs }),
    judgeModel: cost.judgeModel,
    durationMs: cost.durationMs,
    redactions: cost.redactions,
    // The cost of the attempt is in its first row only, so that sums over rows are right.
    ...(index === 0 ? listCosts(cost) : NOTHING_SPENT),
  }));
}

type CostColumns = Pick<Score, 'inputTokens' | 'outputTokens' | 'costUsd' | 'judgeCalls'>;

const NOTHING_SPENT: CostColumns = { inputTokens: null, outputTokens: null, costUsd: 0, judgeCalls: 0 };

function listCosts({ inputTokens, outputTokens, costUsd, judgeCalls }: AttemptCost): CostColumns {
  return { inputTokens, outputTokens, costUsd, judgeCalls };
}

type ValueRow = Omit<Score, keyof CostColumns | 'judgeModel' | 'durationMs' | 'redactions'>;

function buildScoreRow(
  cell: Cell,
  value: ScoreValue,
  { terms, revision, nowMs }: { terms: ScoreTerms; revision: number; nowMs: number },
): ValueRow {
  const { task, target, bound } = cell;
  const { tenant, traceId } = task.key;
  const scoreId = buildScoreId(tenant, target, bound, value.name);
  const former = cell.existing.find((score) => score.scoreId === scoreId);
  const origin =
    terms.takesOver && former !== undefined ? former : { ...cell.selected.selection, source: terms.source };
  return {
    scoreId,
    tenant,
    traceId,
    target: target.kind,
    targetId: target.targetId,
    ...listFacets(target, nowMs),
    scorer: formatScoreName(bound.name, value.name),
    scorerVersion: bound.scorer.version ?? '',
    fingerprint: bound.fingerprint,
    promptVersion: bound.scorer.promptVersion ?? '',
    ...listValueColumns(value),
    scoredAt: nowMs,
    stratum: origin.stratum,
    inclusionProbability: origin.inclusionProbability,
    weight: origin.weight,
    revision,
    completeness: terms.completeness,
    source: origin.source,
    evidenceHash: cell.hash,
    // A row keeps the day of the row that it replaces: the day is part of the key of the table.
    day: former?.day ?? formatUtcDay(nowMs),
    evidenceUntil: task.activity.lastArrivalMs,
    isDeleted: false,
  };
}

/** Computes the id of a scorer's value on a target. `valueName` is '' for the scorer's own score. */
export function buildScoreId(
  tenant: string,
  target: ScoringTarget,
  bound: PreparedScorer,
  valueName = '',
): string {
  return computeScoreId({
    tenant,
    target: target.kind,
    targetId: target.targetId,
    scorer: formatScoreName(bound.name, valueName),
    fingerprint: bound.fingerprint,
  });
}

/**
 * Formats the scorer column of a value: the scorer's name for its own score (`valueName` is ''). For a further score, its name
 * where that begins with the scorer's (`grounding-faithfulness` of `grounding`), else `<scorer>/<name>`.
 */
function formatScoreName(scorer: string, valueName: string): string {
  if (valueName === '' || valueName.startsWith(`${scorer}-`)) {
    return valueName === '' ? scorer : valueName;
  }
  return `${scorer}/${valueName}`;
}

function listValueColumns(value: ScoreValue) {
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

function listFacets({ run }: ScoringTarget, nowMs: number) {
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

/** Builds the row that hides a score which later spans made wrong. */
export function buildTombstone(score: Score, evidenceUntilMs: number, nowMs: number): Score {
  return {
    ...score,
    isDeleted: true,
    evidenceUntil: Math.max(score.evidenceUntil, evidenceUntilMs),
    scoredAt: nowMs,
  };
}

function formatUtcDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Reads an ISO time, Unix milliseconds; `fallbackMs` for one that is no time. */
export function parseTime(iso: string, fallbackMs: number): number {
  const ms = Date.parse(iso);
  return Number.isFinite(ms) ? ms : fallbackMs;
}
