import type { ScorePorts } from '../../api/lists/read-ports.ts';
import { NotFoundError } from '../../domain/errors.ts';
import { computeScoreId } from '../../domain/identity.ts';
import type { Score } from '../../domain/score.ts';
import type { Store } from '../../store/contracts/store.ts';
import { findRun, placeQuote } from './place-quote.ts';
import type { ScopeOptions } from './scope-options.ts';
import { readSteps, readStoredTrace } from './stored-trace.ts';

/** Creates the ports of scores for one tenant, or for all. */
export function createScorePorts(store: Store, { tenant, namedRows }: ScopeOptions): ScorePorts {
  const { judgeUse, lists, scores } = store;
  return {
    list: async (filters, page) => lists.scores({ ...(await namedRows(filters)), tenant }, page),
    listWorst: async (filters, limit) => lists.worstScores({ ...(await namedRows(filters)), tenant }, limit),
    read: async (scoreId) => {
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
