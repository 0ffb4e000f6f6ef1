import type { RunRecord } from '../../domain/run-record.ts';
import type { Score } from '../../domain/score.ts';

/** Returns true for a score of a person or a program whose run was not known when it was posted. */
export function isUnjoined({ scoredBy, completeness }: Pick<Score, 'scoredBy' | 'completeness'>): boolean {
  return scoredBy !== '' && completeness === 'partial';
}

/** Builds new rows of the posted scores whose runs are known by now: with the facts of the run. */
export function joinPostedScores(scores: readonly Score[], records: readonly RunRecord[]): Score[] {
  return scores.filter(isUnjoined).flatMap((score) => {
    const joined = joinPostedScore(score, records);
    return joined === undefined ? [] : [{ ...joined, revision: score.revision + 1 }];
  });
}

/** Adds the facts of its run, or of the turns of its session, to a posted score. Returns undefined while none is known. */
export function joinPostedScore(score: Score, records: readonly RunRecord[]): Score | undefined {
  const ofTenant = records.filter(({ isDeleted, tenant }) => !isDeleted && tenant === score.tenant);
  const present = ofTenant.filter(({ traceId }) => traceId === score.traceId);
  const own = present.find(({ targetId }) => targetId === score.targetId);
  const whole =
    score.traceId === ''
      ? joinTurns(
          ofTenant.filter(({ target, sessionId }) => target === 'trace' && sessionId === score.sessionId),
        )
      : present.find(({ target }) => target === 'trace');
  const record = own ?? whole;
  if (record === undefined) {
    return undefined;
  }
  return {
    ...score,
    target: own?.target ?? score.target,
    spanId: score.spanId === '' ? record.spanId : score.spanId,
    sessionId: record.sessionId === '' ? score.sessionId : record.sessionId,
    userId: record.userId,
    serviceName: record.serviceName,
    serviceVersion: record.serviceVersion,
    agent: record.agent,
    agentVersion: record.agentVersion,
    environment: record.environment,
    model: record.models[0] ?? '',
    traceTimestamp: record.startedAt,
    completeness: 'complete',
  };
}

/** Joins the turns of a session to one record, with the facts that a score of the session has (`buildSessionContent`). */
function joinTurns(turns: readonly RunRecord[]): RunRecord | undefined {
  const newestFirst = turns.toSorted((a, b) => b.startedAt - a.startedAt);
  const last = newestFirst.find(({ notScorable }) => notScorable === '') ?? newestFirst[0];
  return (
    last && {
      ...last,
      spanId: '',
      userId: newestFirst.find(({ userId }) => userId !== '')?.userId ?? '',
      models: newestFirst.flatMap(({ models }) => models),
      startedAt: newestFirst.at(-1)?.startedAt ?? last.startedAt,
    }
  );
}
