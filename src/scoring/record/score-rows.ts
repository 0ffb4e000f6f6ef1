import { ANSWER_CUT, type TargetKind } from '../../domain/trace/agent-run.ts';
import { computeScoreId } from '../../domain/identity.ts';
import type { Score, ScoreSource } from '../../domain/score.ts';
import type { AttemptCost, ScorerAttempt, ScoreValue } from '../attempt/attempt-failure.ts';
import { isScoreOfPair, type Pair, type PairResult, type PairResults } from '../attempt/pair.ts';
import type { PreparedScorer } from '../select/rule.ts';
import type { Selection, TraceTask } from '../trace-task.ts';
import type { ScoringTarget } from '../select/targets.ts';
import { WHOLE_RULE, type Decision } from '../../domain/decision.ts';
import type { Redo } from '../scoring-mode.ts';

// All score rows of scoring are built in this file.

/** Origin of the scores of one pass. */
export interface ScoreTerms {
  readonly source: ScoreSource;
  /** True when a row that replaces a current one keeps the source and the selection of that row. */
  readonly takesOver: boolean;
  /** True when a row of another fingerprint keeps the source of the row that it replaces. */
  readonly redoes: boolean;
  readonly completeness: 'partial' | 'complete';
}

/**
 * Builds the score rows of an attempt; none for an attempt that did not score.
 * @param terms.scoreId id of the scorer's own score
 */
export function buildScoreRows(
  pair: Pair,
  attempt: ScorerAttempt,
  terms: ScoreTerms & { readonly scoreId: string },
): Score[] {
  const { result, cost } = attempt;
  if (result.status !== 'scored' || pair.plan.action !== 'run') {
    return [];
  }
  const { revision } = pair.plan;
  const nowMs = pair.task.clock.nowMs();
  return result.values.map((value, index) => ({
    ...buildScoreRow(pair, value, { terms, revision, nowMs }),
    judgeModel: cost.judgeModel,
    durationMs: cost.durationMs,
    redactions: cost.redactions,
    // The cost of the attempt is in its first row only, so that sums over rows are right.
    ...(index === 0 ? listCosts(cost) : NOTHING_SPENT),
  }));
}

/**
 * Builds new rows for the scores of a pair that stand, when facts that came late changed their sampling: an error gives a trace the
 * probability 1. The probability of a row never falls, so that rules and passes that share it do not take turns.
 */
export function buildReweighedRows(pair: Pair, { source, takesOver }: ScoreTerms): Score[] {
  const { plan, task, target, bound, selected } = pair;
  if (plan.action !== 'decide' || plan.status !== 'scored' || source !== 'live' || takesOver) {
    return [];
  }
  const selection = joinSelections(pair);
  const evidenceUntil = task.activity.lastArrivalMs;
  return task.existing
    .filter(
      (score) =>
        score.source === 'live' &&
        isScoreOfPair(score, { target, bound, selected }) &&
        score.fingerprint === plan.fingerprint &&
        score.evidenceHash === plan.evidenceHash &&
        isNewer(selection, score),
    )
    .map((score) => ({
      ...score,
      ...selection,
      evidenceUntil: Math.max(score.evidenceUntil, evidenceUntil),
      // Of two rows of the same evidence and revision, the first one stays.
      revision: score.revision + (evidenceUntil > score.evidenceUntil ? 0 : 1),
    }));
}

function isNewer(selection: Selection, { inclusionProbability, weight }: Score): boolean {
  return (
    selection.inclusionProbability > inclusionProbability ||
    (selection.inclusionProbability === inclusionProbability && selection.weight !== weight)
  );
}

/**
 * Returns the sampling of a score. Rules with the same scorer share its row. They share the number that is drawn, too, so the trace is
 * scored with the greatest of their probabilities.
 */
function joinSelections({ task, target, bound, selected }: Pair): Selection {
  const shared = task.rules.filter(
    ({ rule, scorers }) =>
      rule.target === target.kind &&
      scorers.some(({ name, fingerprint }) => name === bound.name && fingerprint === bound.fingerprint),
  );
  const [first, ...others] = [selected, ...shared].map(({ selection }) => selection);
  const best = others.reduce(
    (most, each) => (each.inclusionProbability > most.inclusionProbability ? each : most),
    first ?? selected.selection,
  );
  const isUniform = shared.some(({ selection }) => selection.stratum === 'uniform');
  return isUniform ? { ...best, stratum: 'uniform' } : best;
}

type CostColumns = Pick<Score, 'inputTokens' | 'outputTokens' | 'costUsd' | 'judgeCalls'>;

const NOTHING_SPENT: CostColumns = { inputTokens: null, outputTokens: null, costUsd: 0, judgeCalls: 0 };

function listCosts({ inputTokens, outputTokens, costUsd, judgeCalls }: AttemptCost): CostColumns {
  return { inputTokens, outputTokens, costUsd, judgeCalls };
}

type ValueRow = Omit<Score, keyof CostColumns | 'judgeModel' | 'durationMs' | 'redactions'>;

function buildScoreRow(
  pair: Pair,
  value: ScoreValue,
  { terms, revision, nowMs }: { terms: ScoreTerms & { scoreId: string }; revision: number; nowMs: number },
): ValueRow {
  const { task, target, bound } = pair;
  const { tenant, traceId } = task.key;
  const scoreId = value.name === '' ? terms.scoreId : buildScoreId(tenant, target, bound, value.name);
  const former = pair.existing.find((score) => score.scoreId === scoreId);
  const origin = terms.takesOver && former !== undefined ? former : readOrigin(pair, terms);
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
    // A measure tells a cut answer by itself, and its reason is read again.
    reason: bound.readsPast === true ? value.reason : noteCut(value.reason, target),
    scoredAt: nowMs,
    stratum: origin.stratum,
    inclusionProbability: origin.inclusionProbability,
    weight: origin.weight,
    revision,
    completeness: terms.completeness,
    source: origin.source,
    scoredBy: '',
    evidenceHash: pair.hash,
    // A row keeps the day of the row that it replaces: the day is part of the key of the table.
    day: former?.day ?? new Date(nowMs).toISOString().slice(0, 10),
    evidenceUntil: task.activity.lastArrivalMs,
    isDeleted: false,
  };
}

function readOrigin(pair: Pair, { redoes, source }: ScoreTerms): Selection & Pick<Score, 'source'> {
  const replaced = redoes ? pair.priorScores[0] : undefined;
  return { ...joinSelections(pair), source: replaced?.source ?? source };
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
export function formatScoreName(scorer: string, valueName: string): string {
  if (valueName === '' || valueName.startsWith(`${scorer}-`)) {
    return valueName === '' ? scorer : valueName;
  }
  return `${scorer}/${valueName}`;
}

function listValueColumns(value: ScoreValue) {
  const [scoreMin, scoreMax] = value.range ?? [null, null];
  return {
    score: value.score,
    confidence: value.confidence,
    rung: value.rung,
    rungProbability: value.rungProbability,
    firstScore: value.firstScore,
    label: value.label,
    higherIsBetter: value.higherIsBetter,
    scoreMin,
    scoreMax,
    reason: value.reason,
    verdicts: [...value.verdicts],
  };
}

/** Adds to a reason that the scored answer was cut: the score is about the part that was given. */
function noteCut(reason: string, { run }: ScoringTarget): string {
  const isCut = run.warnings.some(({ code }) => code === ANSWER_CUT);
  return isCut ? `${reason} (the answer was cut at the model's output limit)`.trim() : reason;
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

/** Reads an ISO time, Unix milliseconds; `fallbackMs` for one that is no time. */
export function parseTime(iso: string, fallbackMs: number): number {
  const ms = Date.parse(iso);
  return Number.isFinite(ms) ? ms : fallbackMs;
}

/**
 * Builds tombstones for the scores that this pass no longer gives: scores of the rules' scorers whose evidence has changed, and
 * that were not replaced. A score stays while its scorer is deferred, because it will be replaced. It stays when its evidence is
 * the same: it belongs to another configuration. A score by a person or by a program of the user always stays.
 */
export function findStaleScores(task: TraceTask, results: PairResults, nowMs: number): Score[] {
  const yields = new Set([
    ...task.rules.flatMap(({ rule }) =>
      rule.scorers
        .filter(({ name }) => task.claim.owns(rule.name, name))
        .map(({ name }) => joinYieldKey(rule.target, name)),
    ),
    ...task.declined.flatMap(({ rule, rows }) => rows.map((row) => joinYieldKey(rule.target, row.scorer))),
  ]);
  for (const rule of task.settled) {
    rule.scorers.forEach((bound) => yields.delete(joinYieldKey(rule.target, bound.name)));
  }
  const done = [...results];
  const hashes = new Map(done.map(([pair]) => [pair.target.targetId, pair.hash]));
  const replaced = new Set(done.flatMap(([, { scores }]) => scores.map((score) => score.scoreId)));
  const kept = new Set(
    done
      .filter(([, result]) => isPending(result))
      .map(([pair]) => `${pair.target.targetId} ${pair.bound.name}`),
  );
  return task.existing
    .filter(
      (score) =>
        (score.source === 'live' || score.source === 'backfill') &&
        yields.has(joinYieldKey(score.target, readScorerName(score))) &&
        score.evidenceUntil <= task.activity.lastArrivalMs &&
        hashes.get(score.targetId) !== score.evidenceHash &&
        !replaced.has(score.scoreId) &&
        !kept.has(`${score.targetId} ${readScorerName(score)}`),
    )
    .map((score) => buildTombstone(score, task.activity.lastArrivalMs, nowMs));
}

/**
 * Returns true when the earlier score stays for now: its scorer is deferred, was broken off or may not run again today, or another
 * process has just replaced the score.
 */
function isPending({ row, scores }: PairResult): boolean {
  return scores.length === 0 && (row === null || row.status === 'deferred' || row.status === 'scored');
}

function joinYieldKey(target: TargetKind, scorer: string): string {
  return `${target} ${scorer}`;
}

function readScorerName(score: Score): string {
  return score.scorer.split('/', 1)[0] ?? score.scorer;
}

export interface RepairTerms {
  readonly results: PairResults;
  readonly redo: Redo;
  /** True when the content of the trace could not be read. */
  readonly isUnread: boolean;
  readonly nowMs: number;
}

/**
 * Selects what a repair writes. A scorer that fails, or waits for its judge, replaces no result: the former row and its score stand.
 * Scores of a former configuration, and values that did not come again, are withdrawn.
 */
export function selectRepairs(
  task: TraceTask,
  decisions: readonly Decision[],
  { results, redo, isUnread, nowMs }: RepairTerms,
): { readonly rows: readonly Decision[]; readonly tombstones: readonly Score[] } {
  const rows = decisions.filter((row) => isRepair(task, row));
  if (isUnread) {
    return { rows, tombstones: [] };
  }
  const written = new Set(rows);
  const standing = new Map(
    [...results].map(([pair, result]) => [
      pair,
      result.row === null || written.has(result.row) ? result : { ...result, row: null },
    ]),
  );
  const replaced = [...standing].flatMap(([pair, result]) =>
    redo.selects(pair.prior) ? findReplaced(task, pair, result) : [],
  );
  const ids = new Set(replaced.map(({ scoreId }) => scoreId));
  const { lastArrivalMs } = task.activity;
  return {
    rows,
    tombstones: [
      ...replaced.map((score) => buildTombstone(score, lastArrivalMs, nowMs)),
      ...findStaleScores(task, standing, nowMs).filter(({ scoreId }) => !ids.has(scoreId)),
    ],
  };
}

function isRepair(task: TraceTask, row: Decision): boolean {
  if (row.status !== 'failed' && row.status !== 'deferred') {
    return true;
  }
  const prior = task.rules
    .find(({ rule }) => rule.name === row.rule)
    ?.prior.find(({ targetId, scorer }) => targetId === row.targetId && scorer === row.scorer);
  return prior === undefined ? row.scorer !== WHOLE_RULE : prior.status !== 'scored';
}

/** Finds the scores of a decision that its new result replaces. A score by a person always stays. */
function findReplaced(
  task: TraceTask,
  pair: Pair,
  { row, scores }: Pick<PairResult, 'row' | 'scores'>,
): Score[] {
  if (row?.status !== 'scored' && row?.status !== 'not_applicable') {
    return [];
  }
  // Without new scores, an interrupted pass of the same repair has stored them.
  const standing = row.status === 'scored' && scores.length === 0 ? pair.existing : scores;
  const ids = new Set(standing.map(({ scoreId }) => scoreId));
  const fingerprints = [pair.prior?.fingerprint, pair.bound.fingerprint];
  return task.existing.filter(
    (score) =>
      isScoreOfPair(score, pair) &&
      score.source !== 'human' &&
      fingerprints.includes(score.fingerprint) &&
      !ids.has(score.scoreId),
  );
}
