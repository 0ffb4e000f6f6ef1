import type { Score } from '../../../src/domain/score.ts';
import type { ScoreFeed } from '../../../src/store/contracts/stores.ts';

/** The part of the score store that exporters use, in memory. */
export interface MemoryScoreFeed extends ScoreFeed {
  readonly scores: Score[];
  /** Returns `scoreId/revision` of each score that the exporter confirmed. */
  marked(exporter: string): string[];
}

export function memoryScoreFeed(...scores: Score[]): MemoryScoreFeed {
  const marks = new Map<string, Set<string>>();
  const key = (score: Score): string => `${score.scoreId}/${score.revision}`;
  return {
    scores,
    marked: (exporter) => [...(marks.get(exporter) ?? [])],
    unexported: (exporter, _fromMs, limit) =>
      Promise.resolve(scores.filter((score) => !marks.get(exporter)?.has(key(score))).slice(0, limit)),
    markExported: (exporter, done) => {
      marks.set(exporter, new Set([...(marks.get(exporter) ?? []), ...done.map(key)]));
      return Promise.resolve();
    },
  };
}
