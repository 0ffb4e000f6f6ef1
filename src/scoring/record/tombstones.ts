import type { TargetKind } from '../../domain/trace/agent-run.ts';
import type { Score } from '../../domain/score.ts';
import type { CellResult, CellResults } from '../attempt/cell.ts';
import { buildTombstone } from './score-rows.ts';
import type { TraceTask } from '../trace-task.ts';

/**
 * Builds tombstones for the scores that this pass no longer gives: scores of the rules' scorers whose evidence has changed, and
 * that were not replaced. A score stays while its scorer is deferred, because it will be replaced. It stays when its evidence is
 * the same: it belongs to another configuration. A score by a person or by a program of the user always stays.
 */
export function findStaleScores(task: TraceTask, results: CellResults, nowMs: number): Score[] {
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
  const hashes = new Map(done.map(([cell]) => [cell.target.targetId, cell.hash]));
  const replaced = new Set(done.flatMap(([, { scores }]) => scores.map((score) => score.scoreId)));
  const kept = new Set(
    done
      .filter(([, result]) => isPending(result))
      .map(([cell]) => `${cell.target.targetId} ${cell.bound.name}`),
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
function isPending({ row, scores }: CellResult): boolean {
  return scores.length === 0 && (row === null || row.status === 'deferred' || row.status === 'scored');
}

function joinYieldKey(target: TargetKind, scorer: string): string {
  return `${target} ${scorer}`;
}

function readScorerName(score: Score): string {
  return score.scorer.split('/', 1)[0] ?? score.scorer;
}
