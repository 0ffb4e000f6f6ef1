import type { Caller } from '../access/request-access.ts';
import { WHOLE_RULE, type Decision } from '../../domain/decision.ts';
import { NotFoundError } from '../../domain/errors.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import type { Score } from '../../domain/score.ts';
import type { Store } from '../../store/contracts/store.ts';
import { joinTraceKey } from '../../store/contracts/stores.ts';

type ScoredStores = Pick<Store, 'scores' | 'decisions' | 'sessions' | 'spans'>;

/** Reason of a decision on a deleted score. */
const DELETED = 'deleted: the score was deleted through the API';

/**
 * Deletes a score. The decision on it is written first: it stands for this evidence, so that no later read brings the score back.
 * Throws a `NotFoundError` for an unknown id, and for one of another tenant.
 */
export async function deleteScore(stores: ScoredStores, { tenant }: Caller, scoreId: string): Promise<void> {
  const score = (await stores.scores.byIds([scoreId])).get(scoreId);
  if (score === undefined || (tenant !== undefined && score.tenant !== tenant)) {
    throw new NotFoundError(`there is no score ${scoreId}`);
  }
  const nowMs = await stores.spans.nowMs();
  const scored = (await readDecisions(stores, score)).filter(
    ({ target, targetId, status, scorer }) =>
      target === score.target && targetId === score.targetId && status === 'scored' && scorer !== WHOLE_RULE,
  );
  const owner = findRowScorer(
    score.scorer,
    scored.map(({ scorer }) => scorer),
  );
  const own = scored.filter(({ scorer }) => scorer === owner);
  await stores.decisions.write(
    own.map((row) => ({
      ...row,
      status: 'not_applicable',
      reason: DELETED,
      attempts: row.attempts + 1,
      nextAttemptAt: null,
      decidedAt: nowMs,
    })),
  );
  await stores.scores.write([{ ...score, isDeleted: true }]);
}

async function readDecisions({ decisions, sessions }: ScoredStores, score: Score): Promise<Decision[]> {
  return score.traceId === ''
    ? sessions.decisions(score.tenant, [score.targetId])
    : ((await decisions.ofTraces([score])).get(joinTraceKey(score)) ?? []);
}
