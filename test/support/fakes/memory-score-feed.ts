import type { Score } from '../../../src/domain/score.ts';
import type { ExportResult, PendingExport } from '../../../src/store/contracts/score-feed.ts';
import type { ScoreFeed } from '../../../src/store/scores/exports.ts';

/** Deliveries of scores, in memory. */
export interface MemoryScoreFeed extends ScoreFeed {
  readonly scores: Score[];
  /** Returns `scoreId/revision` of each score with a result of the exporter. */
  marked(exporter: string): string[];
}

type Revision = Pick<PendingExport, 'scoreId' | 'revision'> & { readonly isDeleted?: boolean };

export function memoryScoreFeed(...scores: Score[]): MemoryScoreFeed {
  const results = new Map<string, ExportResult[]>();
  const replays: (PendingExport & { readonly exporter: string })[] = [];
  const key = ({ scoreId, revision, isDeleted }: Revision): string =>
    `${scoreId}/${revision}${isDeleted === true ? '/deleted' : ''}`;
  const marked = (exporter: string) => (results.get(exporter) ?? []).map(key);
  return {
    scores,
    marked,
    register: () => Promise.resolve(),
    readPending: (exporter, limit, hasDeletions) => {
      const done = new Set(marked(exporter));
      const fresh = scores
        .map(({ scoreId, revision, isDeleted }, at) => ({
          scoreId,
          revision,
          isDeleted,
          round: 0,
          writtenAtMs: at + 1,
        }))
        .filter((each) => !done.has(key(each)) && (hasDeletions || !each.isDeleted));
      return Promise.resolve({
        pending: [...replays.filter((each) => each.exporter === exporter), ...fresh.slice(0, limit)],
        isWhole: fresh.length <= limit,
        readAtMs: scores.length + 1,
        doneUntilMs: 0,
      });
    },
    readCurrent: (pending) => {
      const current = new Map(scores.map((score) => [score.scoreId, score]));
      const wanted = new Set(pending.map(({ scoreId, revision }) => `${scoreId}/${revision}`));
      return Promise.resolve(
        [...current.values()].filter(({ scoreId, revision }) => wanted.has(`${scoreId}/${revision}`)),
      );
    },
    record: (exporter, added) => {
      results.set(exporter, [...(results.get(exporter) ?? []), ...added]);
      return Promise.resolve();
    },
    advance: () => Promise.resolve(),
    replay: (exporter, revision) => {
      replays.push({ ...revision, isDeleted: false, exporter, writtenAtMs: 0 });
      return Promise.resolve();
    },
  };
}
