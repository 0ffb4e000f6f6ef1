import { DECISIONS, type Decision } from '../../domain/decision.ts';
import { rowJson } from './row-json.ts';

/** Formats a decision row as JSON. The next attempt is null when it is due already. */
export function decisionJson(decision: Decision, nowMs: number) {
  const { nextAttemptAt } = decision;
  const isAhead = nextAttemptAt !== null && nextAttemptAt > nowMs;
  return rowJson(DECISIONS, { ...decision, nextAttemptAt: isAhead ? nextAttemptAt : null });
}
