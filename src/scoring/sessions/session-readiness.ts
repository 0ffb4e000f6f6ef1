import type { Decision } from '../../domain/decision.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { AHEAD_MS } from '../../readiness/readiness.ts';
import type { SessionActivity } from '../../store/contracts/sessions.ts';

/** Times that a session is waited for. */
export interface SessionSettings {
  /** Time without new turns after which a session is ready, milliseconds. */
  readonly idleMs: number;
  /** Age at which a session is ready even if it is never idle, milliseconds since its first arrival or its last decision. */
  readonly maxAgeMs: number;
  /** Most re-scores of a session within 24 hours: they are at least that part of a day apart. */
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

/** Computes the time at which a session is ready, by the store's clock; null when it is ready now. */
export function computeSessionWait(
  { firstArrivalMs, lastArrivalMs }: SessionActivity,
  prior: readonly Decision[],
  nowMs: number,
  { idleMs, maxAgeMs, rescores }: SessionSettings,
): number | null {
  const decidedUntil = prior.reduce((latest, row) => Math.max(latest, row.evidenceUntil), 0);
  // An arrival ahead of the store's clock came before the clock went back.
  const isAhead = lastArrivalMs > nowMs + AHEAD_MS;
  if ((prior.length > 0 && lastArrivalMs <= decidedUntil) || isAhead) {
    return null;
  }
  const openedMs = prior.length > 0 ? decidedUntil : firstArrivalMs;
  const readyMs = Math.min(lastArrivalMs + idleMs, openedMs + maxAgeMs);
  const scoredMs = prior
    .filter(({ status }) => status === 'scored' || status === 'failed')
    .reduce((latest, row) => Math.max(latest, row.decidedAt), -Infinity);
  const at = Math.max(readyMs, scoredMs + DAY_MS / rescores);
  return at > nowMs ? at : null;
}
