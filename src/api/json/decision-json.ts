import type { Decision } from '../../domain/decision.ts';
import { isoTime } from './time-json.ts';

/**
 * Formats a decision row as JSON: the columns of the table in camelCase, times in ISO 8601. The next attempt is null when it is
 * due already.
 */
export function decisionJson(decision: Decision, nowMs: number) {
  const { nextAttemptAt } = decision;
  return {
    ...decision,
    nextAttemptAt: isoTime(nextAttemptAt !== null && nextAttemptAt > nowMs ? nextAttemptAt : null),
    evidenceUntil: isoTime(decision.evidenceUntil),
    decidedAt: isoTime(decision.decidedAt),
  };
}
