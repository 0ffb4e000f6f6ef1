import type { Decision } from '../domain/decision.ts';
import { isoTime } from './time-json.ts';

/** Formats a decision row as JSON: the columns of the table in camelCase, times in ISO 8601. */
export function decisionJson(decision: Decision) {
  return {
    ...decision,
    nextAttemptAt: isoTime(decision.nextAttemptAt),
    evidenceUntil: isoTime(decision.evidenceUntil),
    decidedAt: isoTime(decision.decidedAt),
  };
}
