import { AppError, readErrorMessage } from '../../domain/errors.ts';
import { unpricedBudget } from '../../domain/model-prices.ts';
import { JudgeError } from '../../judge/judge-error.ts';
import type { JudgeCall } from '../../judge/judge-execution.ts';
import type { JudgeScope } from '../../judge/judge-scope.ts';
import type { JudgeCallRecord } from '../../store/contracts/stores.ts';
import { attemptScorer } from './attempt-scorer.ts';
import { formatCode, formatReason } from './attempt-failure.ts';
import type { Cell, CellResult } from './cell.ts';
import { buildAttemptRow, buildPlannedRow } from '../record/decision-rows.ts';
import { deferMalformed } from './malformed-retry.ts';
import { buildScoreId, buildScoreRows, type ScoreTerms } from '../record/score-rows.ts';
import { sumCost, type AttemptResult, type RecordedAttempt, type ScorerAttempt } from './attempt-result.ts';
import { scorerInput } from './scorer-input.ts';
import type { Scoring } from '../scoring.ts';
import type { ScoringMode } from '../scoring-mode.ts';

/** Facts that all cells of a trace share. */
export interface CellRun {
  readonly scoring: Scoring;
  readonly mode: ScoringMode;
  readonly terms: ScoreTerms;
}

/** Returns the result of a cell whose plan needs no run. */
export function resultWithoutRun(cell: Cell): CellResult {
  return { row: buildPlannedRow(cell), scores: [], abandoned: false };
}

/** Runs a cell's scorer, stores its scores and returns its row, which is not stored yet. Throws only what the store throws. */
export async function runCell(cell: Cell, run: CellRun): Promise<CellResult> {
  const scoreId = buildScoreId(cell.task.key.tenant, cell.target, cell.bound);
  const { attempt, scores } = await startAttempt(cell, run, scoreId);
  const row = buildAttemptRow(cell, attempt, run.scoring.random());
  return { row, scores, abandoned: row === null };
}

function startAttempt(cell: Cell, run: CellRun, scoreId: string): Promise<RecordedAttempt> {
  const { guest, isJudged } = cell.bound;
  if (guest === undefined) {
    return isJudged ? runJudged(cell, run, scoreId) : runOnce(cell, run, scoreId);
  }
  // A guest has a queue of its own: one that hangs must not hold the places of other judged scorers.
  return run.mode.shedsJudgeLoad && guest.isFull()
    ? Promise.resolve(shed(`${guest.waiting()} runs wait for scorer ${cell.bound.name} already`))
    : runOnce(cell, run, scoreId);
}

/** Puts a run off that finds no room in a queue. */
function shed(detail: string): RecordedAttempt {
  return attemptWithoutRun({
    status: 'deferred',
    reason: formatReason('overloaded', detail),
    queueFull: true,
  });
}

async function runJudged(cell: Cell, run: CellRun, scoreId: string): Promise<RecordedAttempt> {
  const { judgePool } = run.scoring;
  if (run.mode.shedsJudgeLoad && judgePool.isFull()) {
    return shed(`${judgePool.pending()} judged scorers wait already`);
  }
  return judgePool.run(async () => {
    if (run.mode.reuses && (await isScoredMeanwhile(cell, run, scoreId))) {
      return attemptWithoutRun({ status: 'scored', values: [] });
    }
    return runOnce(cell, run, scoreId);
  });
}

/** Somebody else (another process, a backfill) may have scored it while it waited: a query is cheaper than a judge. */
async function isScoredMeanwhile(cell: Cell, run: CellRun, scoreId: string): Promise<boolean> {
  const found = (await run.scoring.stores.scores.byIds([scoreId])).get(scoreId);
  return found !== undefined && !found.isDeleted && found.evidenceHash === cell.hash;
}

function attemptWithoutRun(result: AttemptResult): RecordedAttempt {
  const cost = sumCost([], { durationMs: 0, redactions: 0 });
  return { attempt: { result, calls: [], cost }, scores: [] };
}

/**
 * Two rules that want the same score at the same time share one run; its score is written once. A run that was held back by
 * the budget of the other rule says nothing about this one.
 */
async function runOnce(cell: Cell, run: CellRun, scoreId: string): Promise<RecordedAttempt> {
  const key = `${scoreId} ${cell.hash} ${run.mode.write ? run.mode.source : 'dry'}`;
  for (;;) {
    let isOurs = false;
    const recorded = await run.scoring.flights.run(key, () => {
      isOurs = true;
      return attemptCell(cell, run, scoreId);
    });
    if (isOurs) {
      return recorded;
    }
    if (!isHeldBack(recorded.attempt)) {
      return { attempt: recorded.attempt, scores: [] };
    }
  }
}

function isHeldBack({ result }: ScorerAttempt): boolean {
  return result.status === 'deferred' && formatCode(result.reason) === 'budget_exhausted';
}

async function attemptCell(cell: Cell, run: CellRun, scoreId: string): Promise<RecordedAttempt> {
  const { scoring } = run;
  const attempt = await attemptScorer(cell.bound, scorerInput(cell.target, run.mode.source, scoreId), {
    judgeScope: scoring.judgeScope,
    redaction: scoring.redaction,
    timeoutMs: scoring.limits.scorerTimeoutMs,
    reserve: reserveFor(cell, run, scoreId),
    signal: scoring.signal,
    checkLease: () => scoring.lease.check(cell.task.lease),
    monotonicMs: scoring.monotonicMs,
  });
  const final = run.mode.write ? deferMalformed(cell, attempt, scoring.limits.judgeAttempts) : attempt;
  observeHealth(cell, final, scoring);
  return recordAttempt(cell, run, final);
}

function observeHealth({ bound }: Cell, { result }: ScorerAttempt, { judgeHealth }: Scoring): void {
  if (result.status === 'abandoned') {
    return;
  }
  const reason = result.status === 'scored' ? '' : result.reason;
  const kind = 'kind' in result ? result.kind : undefined;
  const { judgeModel: judge, name: scorer } = bound;
  judgeHealth.observe({ judge, scorer, status: result.status, kind: kind ?? formatCode(reason), reason });
}

/** Puts money of the rule's budget aside for each judge call. Absent without a budget. */
function reserveFor(cell: Cell, { scoring }: CellRun, scoreId: string): JudgeScope['reserve'] {
  const { name: rule, budget } = cell.selected.rule;
  if (budget === undefined) {
    return undefined;
  }
  return async ({ model, estimatedUsd }) => {
    if (estimatedUsd === undefined) {
      throw new JudgeError('judge_misconfigured', `rule ${rule}: ${unpricedBudget(model)}`);
    }
    if (estimatedUsd === 0) {
      return { settle: () => undefined };
    }
    const { clock } = cell.task;
    const { signal } = scoring;
    const ask = { rule, perDayUsd: budget.perDay, scoreId, model, usd: estimatedUsd, signal };
    return scoring.budget.reserve({ ...ask, nowMs: () => clock.nowMs() });
  };
}

/** Stores what a try gave. A try whose trace was taken from us meanwhile is dropped: its new owner scores it. */
async function recordAttempt(cell: Cell, run: CellRun, attempt: ScorerAttempt): Promise<RecordedAttempt> {
  const { scoring, mode } = run;
  const scores = buildScoreRows(cell, attempt, run.terms);
  if (!mode.write) {
    return { attempt, scores };
  }
  await recordCalls(cell, scoring, attempt.calls);
  try {
    await scoring.lease.check(cell.task.lease);
  } catch (error) {
    if (error instanceof AppError && error.code === 'cancelled') {
      return { attempt: { ...attempt, result: { status: 'abandoned' } }, scores: [] };
    }
    throw error;
  }
  await scoring.scoreWriter.write(scores);
  return { attempt, scores };
}

/** The audit of judge calls: a row that the store refuses is reported, and costs no score. */
async function recordCalls(cell: Cell, scoring: Scoring, calls: readonly JudgeCall[]): Promise<void> {
  try {
    await scoring.callWriter.write(calls.map((call) => callRecord(cell, call)));
  } catch (error) {
    if (error instanceof AppError && error.retryable) {
      throw error;
    }
    scoring.log.warn('judge calls not stored', { scorer: cell.bound.name, error: readErrorMessage(error) });
  }
}

function callRecord(cell: Cell, call: JudgeCall): JudgeCallRecord {
  return {
    tenant: cell.task.key.tenant,
    traceId: cell.task.key.traceId,
    scoreId: buildScoreId(cell.task.key.tenant, cell.target, cell.bound),
    scorer: cell.bound.name,
    step: call.step,
    model: call.model,
    status: call.status,
    prompt: call.prompt,
    reply: call.reply,
    error: call.error,
    inputTokens: call.usage?.inputTokens ?? null,
    outputTokens: call.usage?.outputTokens ?? null,
    costUsd: call.cost ?? null,
    durationMs: call.durationMs,
    calledAtMs: call.calledAtMs,
  };
}
