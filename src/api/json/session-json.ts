import type { ListedSession } from '../../store/contracts/lists.ts';
import { decisionJson } from './decision-json.ts';
import type { SessionView } from '../reads/sessions.ts';
import { scoreJson } from './score-json.ts';
import { isoTime } from './time-json.ts';
import { traceJson } from './trace-json.ts';

/** Formats a session of a list as JSON; times in ISO 8601. */
export function sessionJson(session: ListedSession) {
  const {
    tenant,
    sessionId,
    startedAtMs,
    lastTurnMs,
    turnCount,
    userId,
    agents,
    services,
    totalTokens,
    costUsd,
  } = session;
  return {
    tenant,
    sessionId,
    startedAt: isoTime(startedAtMs),
    lastTurnAt: isoTime(lastTurnMs),
    turnCount,
    userId: userId || null,
    agents,
    services,
    totalTokens,
    costUsd,
    scores: session.scores.map(scoreJson),
  };
}

/** Formats a session with its turns and decisions as JSON. */
export function sessionViewJson({ session, turns, omittedTurns, decisions, nowMs }: SessionView) {
  return {
    ...sessionJson(session),
    decisions: decisions.map((decision) => decisionJson(decision, nowMs)),
    turns: turns.map(traceJson),
    omittedTurns,
  };
}
