import { unpricedBudget } from '../../domain/model-prices.ts';
import type { Score } from '../../domain/score.ts';
import { JudgeError } from '../../judge/judge-error.ts';
import type { JudgeScope } from '../../judge/judge-scope.ts';
import { joinTraceKey } from '../../store/contracts/stores.ts';
import { attemptScorer } from './attempt-scorer.ts';
import { readReasonCode, formatReason } from './attempt-failure.ts';
import { isScoreOfCell, type Cell, type CellResult } from './cell.ts';
import { buildAttemptRow, buildPlannedRow } from '../record/decision-rows.ts';
import { deferMalformed } from './malformed-retry.ts';
import { buildScoreId, buildScoreRows, type ScoreTerms } from '../record/score-rows.ts';
import { sumCost, type AttemptResult, type RecordedAttempt, type ScorerAttempt } from './attempt-result.ts';
import { buildScorerInput } from './scorer-input.ts';
import { recordAttempt } from '../record/record-attempt.ts';
import type { RecordContext } from '../record/record-context.ts';
import type { AttemptContext } from './attempt-context.ts';
import type { ScoringMode } from '../scoring-mode.ts';

/** Facts that all cells of a trace share. */
export interface CellRun {
  readonly context: AttemptContext & RecordContext;
  readonly mode: ScoringMode;
  readonly terms: ScoreTerms;
}

/** Returns the result of a cell whose plan needs no run. */
export function resultWithoutRun(cell: Cell): CellResult {
  return { row: buildPlannedRow(cell), scores: [], abandoned: false };
}

/** Runs the scorer of a cell and stores its scores. Returns them with the row, which is not stored yet. Throws what the store throws. */
export async function runCell(cell: Cell, run: CellRun): Promise<CellResult> {
  const scoreId = buildScoreId(cell.task.key.tenant, cell.target, cell.bound);
  const { attempt, scores } = await startAttempt(cell, run, scoreId);
  const row = buildAttemptRow(cell, attempt, run.context.random());
  return { row, scores, abandoned: row === null };
}

function startAttempt(cell: Cell, run: CellRun, scoreId: string): Promise<RecordedAttempt> {
  const { guest, isJudged } = cell.bound;
  if (guest === undefined) {
    return isJudged ? runJudged(cell, run, scoreId) : runOnce(cell, run, scoreId);
  }
  // A scorer in child processes has a queue of its own: when it hangs, the places of other judged scorers stay free.
  return run.mode.shedsJudgeLoad && guest.isFull()
    ? Promise.resolve(deferForQueue(`${guest.waiting()} runs wait for scorer ${cell.bound.name} already`))
    : runOnce(cell, run, scoreId);
}

/** Defers a run because a queue is full. */
function deferForQueue(detail: string): RecordedAttempt {
  return attemptWithoutRun({
    status: 'deferred',
    reason: formatReason('overloaded', detail),
    queueFull: true,
  });
}

async function runJudged(cell: Cell, run: CellRun, scoreId: string): Promise<RecordedAttempt> {
  const { judgePool } = run.context;
  if (run.mode.shedsJudgeLoad && judgePool.isFull()) {
    return deferForQueue(`${judgePool.pending()} judged scorers wait already`);
  }
  return judgePool.run(async () => {
    const standing = run.mode.reuses ? await findStoredScore(cell, run) : undefined;
    if (standing !== undefined) {
      return attemptWithoutRun({ status: 'scored', values: [], standing: standing.fingerprint });
    }
    return runOnce(cell, run, scoreId);
  });
}

/**
 * Finds a score of the same evidence: another process or a backfill may have scored the run while it waited. A query is cheaper
 * than a judge call.
 */
async function findStoredScore(cell: Cell, { context, mode }: CellRun): Promise<Score | undefined> {
  const { key } = cell.task;
  const scores = (await context.stores.scores.ofTraces([key])).get(joinTraceKey(key)) ?? [];
  const isStanding = ({ fingerprint, source }: Score) =>
    fingerprint === cell.bound.fingerprint || (mode.keepsFormerResults && source === 'live');
  return scores.find(
    (score) => score.evidenceHash === cell.hash && isScoreOfCell(score, cell) && isStanding(score),
  );
}

function attemptWithoutRun(result: AttemptResult): RecordedAttempt {
  const cost = sumCost([], { durationMs: 0, redactions: 0 });
  return { attempt: { result, calls: [], cost }, scores: [] };
}

/**
 * Runs the scorer once for all rules that need the same score at the same time; its score is written once. When the budget of the
 * other rule was exhausted, this rule tries with its own budget.
 */
async function runOnce(cell: Cell, run: CellRun, scoreId: string): Promise<RecordedAttempt> {
  const key = `${scoreId} ${cell.hash} ${run.mode.write ? run.mode.source : 'dry'}`;
  for (;;) {
    let isOurs = false;
    const recorded = await run.context.flights.run(key, () => {
      isOurs = true;
      return attemptCell(cell, run, scoreId);
    });
    if (isOurs) {
      return recorded;
    }
    if (!isOutOfBudget(recorded.attempt)) {
      return { attempt: recorded.attempt, scores: [] };
    }
  }
}

function isOutOfBudget({ result }: ScorerAttempt): boolean {
  return result.status === 'deferred' && readReasonCode(result.reason) === 'budget_exhausted';
}

async function attemptCell(cell: Cell, run: CellRun, scoreId: string): Promise<RecordedAttempt> {
  const { context, mode, terms } = run;
  const result = await attemptScorer(cell.bound, buildScorerInput(cell.target, mode.source, scoreId), {
    judgeScope: context.judgeScope,
    redaction: context.redaction,
    timeoutMs: context.scorerTimeoutMs,
    reserve: createReserve(cell, context, scoreId),
    signal: context.signal,
    checkClaim: () => cell.task.claim.check(),
    monotonicMs: context.monotonicMs,
  });
  const attempt = mode.write ? deferMalformed(cell, result, context.judgeAttempts) : result;
  observeHealth(cell, attempt, context);
  const recorded = { attempt, scores: buildScoreRows(cell, attempt, terms) };
  return mode.write ? recordAttempt(context, cell, recorded) : recorded;
}

function observeHealth({ bound }: Cell, { result }: ScorerAttempt, { judgeHealth }: AttemptContext): void {
  if (result.status === 'abandoned') {
    return;
  }
  const reason = result.status === 'scored' ? '' : result.reason;
  const kind = 'kind' in result ? result.kind : undefined;
  const { judgeModel: judge, name: scorer } = bound;
  judgeHealth.observe({ judge, scorer, status: result.status, kind: kind ?? readReasonCode(reason), reason });
}

/** Creates the function that reserves money for each judge call; undefined for a rule without a budget. */
function createReserve(
  cell: Cell,
  { budget: budgets, signal }: AttemptContext,
  scoreId: string,
): JudgeScope['reserve'] {
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
    const { clock, key } = cell.task;
    const { tenant } = key;
    const ask = { rule, perDayUsd: budget.perDay, tenant, scoreId, model, usd: estimatedUsd, signal };
    return budgets.reserve({ ...ask, nowMs: () => clock.nowMs() });
  };
}
