import PQueue from 'p-queue';
import { buildSessionTargetId } from '../domain/session-target.ts';
import { SOLE_CLAIMS } from '../ownership/claim.ts';
import type { Scoring } from '../scoring/scoring.ts';
import type { ScoringMode } from '../scoring/scoring-mode.ts';
import { selectSession, SESSIONS_AT_ONCE, sessionMode } from '../scoring/sessions/select-session.ts';
import { computeSessionWait, type SessionSettings } from '../scoring/sessions/session-readiness.ts';
import { readStoreClock } from '../scoring/store-clock.ts';
import type { SessionActivity, SessionKey } from '../store/contracts/sessions.ts';
import type { LookedTrace } from './select-traces.ts';

/** Session whose rules are selected, before its turns are read. */
export interface LookedSession extends Pick<LookedTrace, 'rules' | 'declined' | 'isArriving'> {
  readonly key: SessionKey;
}

/**
 * Selects the rules of sessions as scoring does before it reads their turns, as if the rules had never decided them. Throws what the store
 * throws.
 */
export async function lookAtSessions(
  scoring: Scoring,
  mode: ScoringMode,
  {
    sessions,
    settings,
  }: { readonly sessions: readonly SessionActivity[]; readonly settings: SessionSettings },
): Promise<LookedSession[]> {
  const clock = await readStoreClock(scoring.stores.spans, scoring.monotonicMs);
  const queue = new PQueue({ concurrency: SESSIONS_AT_ONCE });
  return queue.addAll(
    sessions.map((activity) => async () => {
      const { tenant, sessionId } = activity;
      const claim = SOLE_CLAIMS.claim({ tenant, traceId: buildSessionTargetId(sessionId) });
      const ready = { activity, claim, prior: [], clock };
      const { selected } = await selectSession(scoring, ready, sessionMode(mode));
      const { rules, declined } = selected;
      const isArriving = computeSessionWait(activity, [], clock.nowMs(), settings) !== null;
      return { key: { tenant, sessionId }, rules, declined, isArriving };
    }),
  );
}
