import type { Decision } from '../../domain/decision.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { AHEAD_MS } from '../../readiness/readiness.ts';
import { buildSessionTargetId } from '../../domain/session-target.ts';
import type { SessionActivity, SessionStore } from '../../store/contracts/sessions.ts';

/** Times that a session is waited for. */
export interface SessionSettings {
  /** Time without new turns after which a session is ready, milliseconds. */
  readonly idleMs: number;
  /** Age at which a session is ready even if it is never idle, milliseconds since its first arrival or its last decision. */
  readonly maxAgeMs: number;
  /** Most times that a session is scored within 24 hours. */
  readonly rescores: number;
}

/** Settings with which every session is ready at once. */
export const NO_SESSION_WAIT: SessionSettings = { idleMs: 0, maxAgeMs: Infinity, rescores: Infinity };

/** Computes the age of the oldest turn with which a session is searched: at least twice the maximum age, milliseconds. */
export function computeSessionReach(
  { maxAgeMs }: Pick<SessionSettings, 'maxAgeMs'>,
  reachMs: number,
): number {
  return Math.max(reachMs, 2 * maxAgeMs);
}

/**
 * Reads the time at which a session is ready, by the store's clock; null when it is ready now. The results of the last 24 hours are
 * read only for a session that has as many as the limit at all. Throws when the store does.
 */
export async function readSessionWait(
  sessions: Pick<SessionStore, 'resultTimes'>,
  activity: SessionActivity,
  prior: readonly Decision[],
  nowMs: number,
  settings: SessionSettings,
): Promise<number | null> {
  const waitUntilMs = computeSessionWait(activity, prior, nowMs, settings);
  if (waitUntilMs !== null || prior.every(({ revision }) => revision < settings.rescores)) {
    return waitUntilMs;
  }
  const times = await sessions.resultTimes({
    tenant: activity.tenant,
    targetId: buildSessionTargetId(activity.sessionId),
    rules: [...new Set(prior.map(({ rule }) => rule))],
    sinceMs: nowMs - DAY_MS,
  });
  return computeSessionWait(activity, prior, nowMs, settings, times);
}

/**
 * Computes the time at which a session is ready, by the store's clock; null when it is ready now.
 * @param resultMs times of its results within the last 24 hours, in order
 */
export function computeSessionWait(
  { firstArrivalMs, lastArrivalMs }: SessionActivity,
  prior: readonly Decision[],
  nowMs: number,
  { idleMs, maxAgeMs, rescores }: SessionSettings,
  resultMs: readonly number[] = [],
): number | null {
  const decidedUntil = prior.reduce((latest, row) => Math.max(latest, row.evidenceUntil), 0);
  // An arrival ahead of the store's clock came before the clock went back.
  const isAhead = lastArrivalMs > nowMs + AHEAD_MS;
  if ((prior.length > 0 && lastArrivalMs <= decidedUntil) || isAhead) {
    return null;
  }
  const openedMs = prior.length > 0 ? decidedUntil : firstArrivalMs;
  const readyMs = Math.min(lastArrivalMs + idleMs, openedMs + maxAgeMs);
  const at = Math.max(readyMs, (resultMs.at(-rescores) ?? -Infinity) + DAY_MS);
  return at > nowMs ? at : null;
}
