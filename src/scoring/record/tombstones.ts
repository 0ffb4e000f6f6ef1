import type { TargetKind } from '../../domain/agent-run.ts';
import type { Score } from '../../domain/score.ts';
import type { CellResult, CellResults } from '../attempt/cell.ts';
import { buildTombstone } from './score-rows.ts';
import type { TraceTask } from '../trace-task.ts';

/**
 * Withdraws what this pass no longer yields: scores of the rules' scorers that rest on evidence which has changed since and
 * were not replaced. A score is kept while its scorer is deferred (it will be replaced), when its evidence is still the
 * same (another configuration's series), and always when a person or a program of the user's gave it.
 */
export function staleScores(task: TraceTask, results: CellResults, nowMs: number): Score[] {
  const yields = new Set([
    ...task.rules.flatMap(({ rule }) => rule.scorers.map((bound) => yieldKey(rule.target, bound.name))),
    ...task.declined.flatMap(({ rule, rows }) => rows.map((row) => yieldKey(rule.target, row.scorer))),
  ]);
  for (const rule of task.settled) {
    rule.scorers.forEach((bound) => yields.delete(yieldKey(rule.target, bound.name)));
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
        yields.has(yieldKey(score.target, baseName(score))) &&
        score.evidenceUntil <= task.activity.lastArrivalMs &&
        hashes.get(score.targetId) !== score.evidenceHash &&
        !replaced.has(score.scoreId) &&
        !kept.has(`${score.targetId} ${baseName(score)}`),
    )
    .map((score) => buildTombstone(score, task.activity.lastArrivalMs, nowMs));
}

/**
 * The earlier score stands for now: its scorer will be tried again, was broken off or may not run any more today; or somebody
 * else has just replaced it.
 */
function isPending({ row, scores }: CellResult): boolean {
  return scores.length === 0 && (row === null || row.status === 'deferred' || row.status === 'scored');
}

function yieldKey(target: TargetKind, scorer: string): string {
  return `${target} ${scorer}`;
}

function baseName(score: Score): string {
  return score.scorer.split('/', 1)[0] ?? score.scorer;
}
