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

/** Adds the facts of its run to a posted score. Returns undefined while the run is not known. */
export function joinPostedScore(score: Score, records: readonly RunRecord[]): Score | undefined {
  const present = records.filter(
    ({ isDeleted, tenant, traceId }) => !isDeleted && tenant === score.tenant && traceId === score.traceId,
  );
  const own = present.find(({ targetId }) => targetId === score.targetId);
  const record = own ?? present.find(({ target }) => target === 'trace');
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
