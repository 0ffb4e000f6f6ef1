import type { Score } from '../../../src/domain/score.ts';
import type { ExportResult, PendingExport, ScoreFeed } from '../../../src/store/contracts/score-feed.ts';

/** Deliveries of scores, in memory. */
export interface MemoryScoreFeed extends ScoreFeed {
  readonly scores: Score[];
  /** Returns `scoreId/revision` of each score with a result of the exporter. */
  marked(exporter: string): string[];
}

type Revision = Pick<PendingExport, 'scoreId' | 'revision'>;

export function memoryScoreFeed(...scores: Score[]): MemoryScoreFeed {
  const results = new Map<string, ExportResult[]>();
  const replays: (PendingExport & { readonly exporter: string })[] = [];
  const key = ({ scoreId, revision }: Revision): string => `${scoreId}/${revision}`;
  const marked = (exporter: string) => (results.get(exporter) ?? []).map(key);
  return {
    scores,
    marked,
    register: () => Promise.resolve(),
    readPending: (exporter, limit) => {
      const done = new Set(marked(exporter));
      const fresh = scores
        .map(({ scoreId, revision }, at) => ({ scoreId, revision, round: 0, writtenAtMs: at + 1 }))
        .filter((each) => !done.has(key(each)));
      return Promise.resolve({
        pending: [...replays.filter((each) => each.exporter === exporter), ...fresh.slice(0, limit)],
        isWhole: fresh.length <= limit,
        readAtMs: scores.length + 1,
        doneUntilMs: 0,
      });
    },
    readCurrent: (pending) => {
      const wanted = new Set(pending.map(key));
      return Promise.resolve(scores.filter((score) => !score.isDeleted && wanted.has(key(score))));
    },
    record: (exporter, added) => {
      results.set(exporter, [...(results.get(exporter) ?? []), ...added]);
      return Promise.resolve();
    },
    advance: () => Promise.resolve(),
    replay: (exporter, revision) => {
      replays.push({ ...revision, exporter, writtenAtMs: 0 });
      return Promise.resolve();
    },
  };
}
