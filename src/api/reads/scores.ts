import { NotFoundError } from '../../domain/errors.ts';
import { computeScoreId } from '../../domain/identity.ts';
import type { Score } from '../../domain/score.ts';
import type { ListFilters, ListPage } from '../../store/contracts/lists.ts';
import type { Store } from '../../store/contracts/store.ts';
import { findRun, placeQuote } from './place-quote.ts';
import type { Scope } from './scope.ts';
import { readSteps, readStoredTrace } from './stored-trace.ts';

/** One score with its evidence: a place for each verdict, and the calls of its judge. */
export type ScoreView = Awaited<ReturnType<ReturnType<typeof createScoreReads>['read']>>;

/** Creates the reads of scores for one tenant, or for all. */
export function createScoreReads(store: Store, { tenant, namedRows }: Scope) {
  const { judgeUse, lists, scores } = store;
  return {
    /** Newest first, by the start of the run. */
    list: async (filters: ListFilters, page: ListPage) =>
      lists.scores({ ...(await namedRows(filters)), tenant }, page),
    /** The worst first, in the direction of each scorer. */
    listWorst: async (filters: ListFilters, limit: number) =>
      lists.worstScores({ ...(await namedRows(filters)), tenant }, limit),
    /** Throws a `NotFoundError` for an id that the tenant does not have. */
    read: async (scoreId: string) => {
      const score = (await scores.byIds([scoreId])).get(scoreId);
      if (score === undefined || (tenant !== undefined && score.tenant !== tenant)) {
        throw new NotFoundError(`score ${scoreId} is not in the store; GET /api/v1/scores lists scores`);
      }
      const [judgeCalls, places] = await Promise.all([
        judgeUse.callsOf(score, listCallIds(score)),
        placeVerdicts(store, score),
      ]);
      return { score, places, judgeCalls };
    },
  };
}

/** Returns the ids under which the calls of a score are stored: its own, and those of a scorer that writes several rows. */
function listCallIds(score: Score): string[] {
  const cuts = [...score.scorer.matchAll(/[-/]/gu)].map(({ index }) => score.scorer.slice(0, index));
  return [score.scoreId, ...cuts.map((scorer) => computeScoreId({ ...score, scorer }))];
}

async function placeVerdicts({ spans }: Pick<Store, 'spans'>, score: Score) {
  if (score.verdicts.length === 0) {
    return [];
  }
  const [activity] = (await spans.findTrace(score.traceId)).filter((each) => each.tenant === score.tenant);
  const stored = activity && (await readStoredTrace(spans, activity));
  const read = stored && (await readSteps(stored.data));
  const run = read && findRun(read.reading, score);
  return score.verdicts.map((verdict) => placeQuote(verdict, run, read?.spans ?? []));
}
