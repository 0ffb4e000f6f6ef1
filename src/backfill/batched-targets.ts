import PQueue from 'p-queue';
import type { BatchDesk } from '../batches/batch-desk.ts';
import type { Scoring } from '../scoring/scoring.ts';
import type { TraceOutcome } from '../scoring/trace-task.ts';
import type { BackfillTargets } from './targets.ts';

/** Pages whose scorers run at the same time, while many more wait for replies. */
const PASSES_AT_ONCE = 2;

/**
 * Wraps targets so that their judges are asked in batches. A target whose scorers wait for replies is scored again when the replies
 * are there: with them, the scorers come one question further, or to their end.
 */
export function batchTargets<Key>(
  scoring: Scoring,
  desk: BatchDesk,
  createTargets: (scoring: Scoring) => BackfillTargets<Key>,
): BackfillTargets<Key> {
  const turns = new PQueue({ concurrency: PASSES_AT_ONCE });
  const plain = createTargets(scoring);
  return {
    ...plain,
    async score(keys, onOutcome) {
      for (let left = keys; left.length > 0;) {
        const visit = desk.visit();
        const judgeScope = { ...scoring.judgeScope, cache: undefined, batches: visit };
        const targets = createTargets({ ...scoring, judgeScope });
        const broken = new Map<string, TraceOutcome>();
        const settle = (name: string, outcome: TraceOutcome) =>
          outcome.error === null ? onOutcome(name, outcome) : void broken.set(name, outcome);
        await turns.add(() => targets.score(left, settle));
        await desk.wait(visit.parked);
        if (visit.parked.size === 0) {
          broken.forEach((outcome, name) => onOutcome(name, outcome));
          return;
        }
        left = left.filter((key) => broken.has(plain.name(key)));
      }
    },
  };
}
