import type { RunRecord } from '../../domain/run-record.ts';
import type { Score } from '../../domain/score.ts';
import { MAX_SESSION_TURNS } from '../../scoring/sessions/select-sessions.ts';
import { joinSessionKey, type SessionKey } from '../../store/contracts/sessions.ts';
import type { Store } from '../../store/contracts/store.ts';
import { joinTraceKey } from '../../store/contracts/stores.ts';

/** Reads the runs that posted scores may join: those of their traces, and the newest turns of their sessions. */
export async function readPostedRuns(
  { runs, sessions }: Pick<Store, 'runs' | 'sessions'>,
  scores: readonly Score[],
): Promise<RunRecord[]> {
  const listed = await sessions.turnsOf(listSessions(scores), MAX_SESSION_TURNS);
  const traces = [...scores.filter(({ traceId }) => traceId !== ''), ...listed.flatMap(({ turns }) => turns)];
  const keys = new Map(traces.map((key) => [joinTraceKey(key), key]));
  return [...(await runs.ofTraces([...keys.values()])).values()].flat();
}

/** Lists the sessions that scores are about. */
export function listSessions(scores: readonly Score[]): SessionKey[] {
  const ofSessions = scores.filter(({ traceId }) => traceId === '');
  return [...new Map(ofSessions.map((score) => [joinSessionKey(score), score])).values()];
}
