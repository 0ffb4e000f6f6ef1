import type { Score } from '../../domain/score.ts';
import { computeFenceCode } from '../../judge/fence-code.ts';
import { attemptScorer } from './attempt-scorer.ts';
import { readReasonCode } from './attempt-failure.ts';
import { isScoreOfCell, type Cell, type CellResult } from './cell.ts';
import { isResultOf } from './plan-cell.ts';
import { buildAttemptRow, buildPlannedRow } from '../record/decision-rows.ts';
import { createReserve } from './create-reserve.ts';
import { limitTries } from './limit-tries.ts';
import { buildScoreId, buildScoreRows, type ScoreTerms } from '../record/score-rows.ts';
import { sumCost, type RecordedAttempt, type ScorerAttempt } from './attempt-result.ts';
import { buildScorerInput } from './scorer-input.ts';
import { readRunFacts } from './run-facts.ts';
import { recordAttempt } from '../record/record-attempt.ts';
import type { RecordContext } from '../record/record-context.ts';
import type { AttemptContext } from './attempt-context.ts';
import type { PreparedScorer } from '../select/rule.ts';
import type { RunStock, StockEnd } from './run-stock.ts';
import type { ScoringMode } from '../scoring-mode.ts';

/** Facts that all cells of a trace share. */
export interface CellRun {
  readonly context: AttemptContext & RecordContext;
  readonly mode: ScoringMode;
  readonly terms: ScoreTerms;
  /** Places that the runs of this pass may use, by stock. */
  readonly ends: ReadonlyMap<RunStock, StockEnd>;
}

/** Returns the result of a cell whose run found no room in its stock. */
export function leaveCell(): CellResult {
  return { row: null, scores: [], abandoned: false, left: true };
}

/** Returns the result of a cell whose plan needs no run. */
export function resultWithoutRun(cell: Cell): CellResult {
  return { row: buildPlannedRow(cell), scores: [], abandoned: false };
}

/** Runs the scorer of a cell and stores its scores. Returns them with the row, which is not stored yet. Throws what the store throws. */
export async function runCell(cell: Cell, run: CellRun): Promise<CellResult> {
  const scoreId = buildScoreId(cell.task.key.tenant, cell.target, cell.bound);
  const { attempt, scores } = await runOnce(cell, run, scoreId);
  const row = buildAttemptRow(cell, attempt, run.context.random());
  return { row, scores, abandoned: row === null };
}

/**
 * Finds a score of the same evidence: another process or a backfill may have scored the run while it waited. A query is cheaper
 * than a judge call.
 */
async function findStoredScore(cell: Cell, { context, mode }: CellRun): Promise<Score | undefined> {
  const scores = await context.laterScores.read(cell.task);
  const redo = mode.redo?.selects(cell.prior) ? mode.redo : null;
  const isStanding = (score: Score) =>
    redo === null
      ? score.fingerprint === cell.bound.fingerprint || (mode.keepsFormerResults && score.source === 'live')
      : score.fingerprint === cell.bound.fingerprint && isResultOf(redo, score, cell.hash);
  return scores.find(
    (score) => score.evidenceHash === cell.hash && isScoreOfCell(score, cell) && isStanding(score),
  );
}

/** Builds the attempt of a run that has a score already. */
function useStanding({ fingerprint }: Score): ScorerAttempt {
  const cost = sumCost([], { durationMs: 0, redactions: 0 });
  return { result: { status: 'scored', values: [], standing: fingerprint }, calls: [], cost };
}

/**
 * Runs the scorer once for all rules that need the same score at the same time; its score is written once. When the budget of the
 * other rule was exhausted, this rule tries with its own budget. When the other work was stopped, this one goes on alone.
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
    const isAbandonedThere = recorded.attempt.result.status === 'abandoned' && !run.context.signal?.aborted;
    if (!isOutOfBudget(recorded.attempt) && !isAbandonedThere) {
      return { attempt: recorded.attempt, scores: [] };
    }
  }
}

function isOutOfBudget({ result }: ScorerAttempt): boolean {
  return result.status === 'deferred' && readReasonCode(result.reason) === 'budget_exhausted';
}

async function attemptCell(cell: Cell, run: CellRun, scoreId: string): Promise<RecordedAttempt> {
  const { context, mode, terms } = run;
  const result = await attemptInPlace(cell, run, scoreId);
  if (result.result.status === 'scored' && result.result.standing !== undefined) {
    return { attempt: result, scores: [] };
  }
  const attempt = mode.write ? limitTries(cell, result, context.judgeAttempts) : result;
  observeHealth(cell, attempt, context);
  const recorded = { attempt, scores: buildScoreRows(cell, attempt, terms) };
  return mode.write ? recordAttempt(context, cell, recorded) : recorded;
}

/** Asks for a place only for the call, so that the places do not wait for the writes of rows. */
async function attemptInPlace(cell: Cell, run: CellRun, scoreId: string): Promise<ScorerAttempt> {
  if (findStock(cell.bound, run.context) !== run.context.judgeStock) {
    return callScorer(cell, run, scoreId);
  }
  const end = run.ends.get(run.context.judgeStock) ?? 'oldest';
  return run.context.judgeStock.run(end, async () => {
    const standing = run.mode.reuses ? await findStoredScore(cell, run) : undefined;
    return standing === undefined ? callScorer(cell, run, scoreId) : useStanding(standing);
  });
}

/** Returns the stock of the runs of a slow scorer; null for a scorer that runs at once in this process. */
export function findStock(
  { guest, isJudged }: PreparedScorer,
  { judgeStock }: Pick<AttemptContext, 'judgeStock'>,
): RunStock | null {
  // A scorer in child processes has a stock of its own: when it hangs, the places of other judged scorers stay free.
  return guest ?? (isJudged ? judgeStock : null);
}

async function callScorer(cell: Cell, { context, mode }: CellRun, scoreId: string): Promise<ScorerAttempt> {
  const facts = cell.bound.readsPast === true ? await readRunFacts(cell, context) : {};
  const input = { ...buildScorerInput(cell.target, mode.source, scoreId), ...facts };
  return attemptScorer(cell.bound, input, {
    judgeScope: context.judgeScope,
    redaction: context.redaction,
    timeoutMs: context.scorerTimeoutMs,
    fenceCode: computeFenceCode(JSON.stringify([cell.task.key.tenant, cell.target.targetId, cell.hash])),
    reserve: createReserve(cell, context, scoreId),
    onReuse: (judge) => context.reuses.add(cell.task.key.tenant, judge),
    signal: context.signal,
    checkClaim: () => cell.task.claim.check(),
    monotonicMs: context.monotonicMs,
  });
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
