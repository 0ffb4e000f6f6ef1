import type { Decision } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import { computeEvidenceHash, computeTotalsHash } from '../read/evidence.ts';
import { planCell, type CellPlan } from './plan-cell.ts';
import type { PreparedScorer } from '../select/rule.ts';
import type { ScoringMode } from '../scoring-mode.ts';
import type { SelectedRule } from '../select/selection.ts';
import type { ScoringTarget } from '../select/targets.ts';
import type { TraceTask } from '../trace-task.ts';

/** One scorer of one rule on one target, and its plan. */
export interface Cell {
  readonly task: TraceTask;
  readonly selected: SelectedRule;
  readonly target: ScoringTarget;
  readonly bound: PreparedScorer;
  /** Hash of the evidence of the target. */
  readonly hash: string;
  /** Current scores of this target, scorer and fingerprint. */
  readonly existing: readonly Score[];
  readonly prior: Decision | undefined;
  /** Current scores of the fingerprint of `prior`. */
  readonly priorScores: readonly Score[];
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
  /** Set when the run found no room in its stock: nothing is decided yet. */
  readonly left?: true;
}

/** Results of the cells that are done; a cell without an entry still runs. */
export type CellResults = ReadonlyMap<Cell, CellResult>;

/** Returns true for a score of the scorer on the target, also for a further score that is not the name of another scorer. */
export function isScoreOfCell(
  { scorer: stored, target: kind, targetId }: Score,
  { target, bound, selected }: Pick<Cell, 'target' | 'bound' | 'selected'>,
): boolean {
  const isFurther = stored.startsWith(`${bound.name}/`) || stored.startsWith(`${bound.name}-`);
  const isOurs =
    stored === bound.name || (isFurther && !selected.scorers.some(({ name }) => name === stored));
  return isOurs && kind === target.kind && targetId === target.targetId;
}

/** Plans the cells of one rule on one target, in the order of the rule's scorers. */
export function buildCells(
  task: TraceTask,
  selected: SelectedRule,
  target: ScoringTarget,
  mode: ScoringMode,
): Cell[] {
  return selected.scorers.map((bound) => {
    const hash = bound.readsPast === true ? computeTotalsHash(target.run) : computeEvidenceHash(target.run);
    const scores = task.existing.filter((score) => isScoreOfCell(score, { target, bound, selected }));
    const existing = scores.filter(({ fingerprint }) => fingerprint === bound.fingerprint);
    const prior = selected.prior.find((row) => row.targetId === target.targetId && row.scorer === bound.name);
    const priorScores = scores.filter(({ fingerprint }) => fingerprint === prior?.fingerprint);
    const plan = planCell(
      {
        prior,
        existing,
        hasPriorScore: priorScores.length > 0,
        isLimited: target.kind !== 'session',
        fingerprint: bound.fingerprint,
        evidenceHash: hash,
        evidenceUntilMs: task.activity.lastArrivalMs,
        nowMs: task.clock.nowMs(),
        reread: task.reread,
      },
      mode,
    );
    return { task, selected, target, bound, hash, existing, prior, priorScores, plan };
  });
}
