import { WHOLE_RULE, type Decision } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import { isScoreOfCell, type Cell, type CellResult, type CellResults } from '../attempt/cell.ts';
import type { Redo } from '../scoring-mode.ts';
import type { TraceTask } from '../trace-task.ts';
import { buildTombstone } from './score-rows.ts';
import { findStaleScores } from './tombstones.ts';

export interface RepairTerms {
  readonly results: CellResults;
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
    [...results].map(([cell, result]) => [
      cell,
      result.row === null || written.has(result.row) ? result : { ...result, row: null },
    ]),
  );
  const replaced = [...standing].flatMap(([cell, result]) =>
    redo.selects(cell.prior) ? findReplaced(task, cell, result) : [],
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
  cell: Cell,
  { row, scores }: Pick<CellResult, 'row' | 'scores'>,
): Score[] {
  if (row?.status !== 'scored' && row?.status !== 'not_applicable') {
    return [];
  }
  // Without new scores, an interrupted pass of the same repair has stored them.
  const standing = row.status === 'scored' && scores.length === 0 ? cell.existing : scores;
  const ids = new Set(standing.map(({ scoreId }) => scoreId));
  const fingerprints = [cell.prior?.fingerprint, cell.bound.fingerprint];
  return task.existing.filter(
    (score) =>
      isScoreOfCell(score, cell) &&
      score.source !== 'human' &&
      fingerprints.includes(score.fingerprint) &&
      !ids.has(score.scoreId),
  );
}
