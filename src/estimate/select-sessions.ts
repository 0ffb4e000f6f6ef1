import { buildSessionTargetId } from '../domain/session-target.ts';
import { SOLE_CLAIMS } from '../ownership/ownership.ts';
import { readStoreClock } from '../scoring/live/timers.ts';
import type { Scoring } from '../scoring/scoring.ts';
import type { ScoringMode } from '../scoring/scoring-mode.ts';
import { selectSessions, sessionMode } from '../scoring/sessions/select-sessions.ts';
import { computeSessionWait, type SessionSettings } from '../scoring/sessions/score-session.ts';
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
  const ready = sessions.map((activity) => {
    const { tenant, sessionId } = activity;
    const claim = SOLE_CLAIMS.claim({ tenant, traceId: buildSessionTargetId(sessionId) });
    return { activity, claim, prior: [], clock };
  });
  const isArriving = (session: SessionActivity) =>
    computeSessionWait(session, [], clock.nowMs(), settings) !== null;
  return (await selectSessions(scoring, ready, sessionMode(mode))).map(({ of, selected }) => ({
    key: { tenant: of.activity.tenant, sessionId: of.activity.sessionId },
    rules: selected.rules,
    declined: selected.declined,
    isArriving: isArriving(of.activity),
  }));
}
