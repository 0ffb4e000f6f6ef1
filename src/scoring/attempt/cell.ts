import { WHOLE_RULE, type Decision } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import { backoffMs, queueWaitMs } from './backoff.ts';
import { evidenceHash } from '../read/evidence.ts';
import { planCell, type CellPlan } from './plan-cell.ts';
import type { PreparedScorer } from '../select/rule.ts';
import type { AttemptCost, AttemptResult, ScorerAttempt } from './attempt-result.ts';
import type { ScoringMode } from '../scoring-mode.ts';
import type { SelectedRule } from '../select/select-rules.ts';
import type { ScoringTarget } from '../select/targets.ts';
import type { TraceTask } from '../trace-task.ts';

/** Time that an interim row may stand before the trace is tried again, milliseconds. */
export const IN_PROGRESS_MS = 10 * 60_000;

/** One scorer of one rule on one target, and its plan. */
export interface Cell {
  readonly task: TraceTask;
  readonly selected: SelectedRule;
  readonly target: ScoringTarget;
  readonly bound: PreparedScorer;
  readonly hash: string;
  /** Current scores of this target, scorer and fingerprint. */
  readonly existing: readonly Score[];
  readonly prior: Decision | undefined;
  readonly plan: CellPlan;
}

/** Result of a cell in one pass. */
export interface CellResult {
  /** Row to write; null when the earlier row is still right, or when the run was broken off. */
  readonly row: Decision | null;
  /** Scores that were computed now. */
  readonly scores: readonly Score[];
  /** True when the run was broken off: nothing is decided, and the trace is scored again. */
  readonly abandoned: boolean;
}

/** Results of the cells that are done; a cell without an entry still runs. */
export type CellResults = ReadonlyMap<Cell, CellResult>;

/** Returns true when a stored name is this scorer's: its own, or one of its further scores and no other scorer's own. */
function isScoredBy(stored: string, scorer: string, { scorers }: SelectedRule): boolean {
  const isFurther = stored.startsWith(`${scorer}/`) || stored.startsWith(`${scorer}-`);
  return stored === scorer || (isFurther && !scorers.some(({ name }) => name === stored));
}

/** The cells of one rule on one target, in the order of the rule. */
export function buildCells(
  task: TraceTask,
  selected: SelectedRule,
  target: ScoringTarget,
  mode: ScoringMode,
): Cell[] {
  const hash = evidenceHash(target.run);
  return selected.scorers.map((bound) => {
    const existing = task.existing.filter(
      (score) =>
        score.target === target.kind &&
        score.targetId === target.targetId &&
        score.fingerprint === bound.fingerprint &&
        isScoredBy(score.scorer, bound.name, selected),
    );
    const prior = selected.prior.find((row) => row.targetId === target.targetId && row.scorer === bound.name);
    const plan = planCell(
      {
        prior,
        existing,
        fingerprint: bound.fingerprint,
        evidenceHash: hash,
        evidenceUntilMs: task.activity.lastArrivalMs,
        nowMs: task.clock.nowMs(),
        reread: task.reread,
      },
      mode,
    );
    return { task, selected, target, bound, hash, existing, prior, plan };
  });
}

/** Result of a cell whose plan needs no run. */
export function resultWithoutRun(cell: Cell): CellResult {
  const { plan, bound } = cell;
  const row =
    plan.action === 'decide'
      ? cellRow(cell, { ...plan, costUsd: null, fingerprint: bound.fingerprint })
      : null;
  return { row, scores: [], abandoned: false };
}

/** A cell's row for what a try came to; null for a try that was broken off. */
export function attemptRow(cell: Cell, attempt: ScorerAttempt, random: number): Decision | null {
  const { result } = attempt;
  if (result.status === 'abandoned' || cell.plan.action !== 'run') {
    return null;
  }
  const attempts = cell.plan.attempts + 1;
  return cellRow(cell, {
    status: result.status,
    reason: result.status === 'scored' ? reuseNote(attempt.cost) : result.reason,
    attempts,
    nextAttemptAt: nextAttempt(cell, result, attempts, random),
    revision: cell.plan.revision,
    evidenceHash: cell.hash,
    costUsd: attempt.cost.costUsd,
    fingerprint: cell.bound.fingerprint,
  });
}

/** The note on a score that rests on earlier answers of its judge; '' for one whose questions were all asked. */
function reuseNote({ reusedAnswers, judgeCalls }: AttemptCost): string {
  return reusedAnswers === 0
    ? ''
    : `judge_reused: ${reusedAnswers} of ${reusedAnswers + judgeCalls} answers are the judge's earlier ones to the very same questions (judges.reuse)`;
}

/**
 * The row of a cell that still runs while another one's failure is to be shown: as long as any row of a rule has seen the
 * latest arrival the sweep takes the rule for decided, so none may be missing.
 */
export function inProgressRow(cell: Cell): Decision | null {
  if (cell.plan.action !== 'run') {
    return null;
  }
  return cellRow(cell, {
    status: 'deferred',
    reason: 'in_progress: the scorer is at work',
    attempts: cell.plan.attempts,
    nextAttemptAt: cell.task.clock.nowMs() + IN_PROGRESS_MS,
    revision: cell.plan.revision,
    evidenceHash: cell.hash,
    costUsd: null,
    fingerprint: cell.bound.fingerprint,
  });
}

/** The earlier verdict on a whole target, once its scorers have rows of their own. */
export function withdrawnVerdict(cell: Cell): Decision | null {
  const verdict = cell.selected.prior.find(
    (row) => row.targetId === cell.target.targetId && row.scorer === WHOLE_RULE,
  );
  if (verdict === undefined || verdict.status === 'scored') {
    return null;
  }
  const now = cellRow(cell, {
    status: 'scored',
    reason: 'superseded: later spans changed the verdict; see the rows of the scorers',
    attempts: verdict.evidenceUntil >= cell.task.activity.lastArrivalMs ? verdict.attempts + 1 : 0,
    nextAttemptAt: null,
    revision: verdict.revision + 1,
    evidenceHash: cell.hash,
    costUsd: null,
    fingerprint: '',
  });
  return { ...now, scorer: WHOLE_RULE };
}

function nextAttempt(cell: Cell, result: AttemptResult, attempts: number, random: number): number | null {
  if (result.status !== 'deferred') {
    return null;
  }
  const waitMs =
    result.queueFull === true ? queueWaitMs(random) : backoffMs(attempts, result.retryAfterMs, random);
  return Math.max(cell.task.clock.nowMs() + waitMs, result.notBeforeMs ?? 0);
}

type RowParts = Pick<
  Decision,
  'status' | 'reason' | 'attempts' | 'nextAttemptAt' | 'revision' | 'evidenceHash' | 'costUsd' | 'fingerprint'
>;

function cellRow(cell: Cell, parts: RowParts): Decision {
  const { task, selected, target } = cell;
  return {
    tenant: task.key.tenant,
    traceId: task.key.traceId,
    target: target.kind,
    targetId: target.targetId,
    rule: selected.rule.name,
    scorer: cell.bound.name,
    fingerprint: parts.fingerprint,
    agent: target.run.agent ?? '',
    environment: target.run.environment ?? '',
    status: parts.status,
    reason: parts.reason,
    attempts: parts.attempts,
    nextAttemptAt: parts.nextAttemptAt,
    stratum: selected.selection.stratum,
    inclusionProbability: selected.selection.inclusionProbability,
    weight: selected.selection.weight,
    revision: parts.revision,
    evidenceUntil: task.activity.lastArrivalMs,
    evidenceHash: parts.evidenceHash,
    costUsd: parts.costUsd,
    decidedAt: task.clock.nowMs(),
  };
}
