import { v5 as uuidv5 } from 'uuid';
import type { AppError } from '../../domain/errors.ts';
import type { Score } from '../../domain/score.ts';
import type { DeadLetter } from '../../store/contracts/dead-letters.ts';
import type { PendingExport } from '../../store/contracts/score-feed.ts';

/** Signal of dead letters that contain scores. */
export const SCORE_SIGNAL = 'scores';

/** Namespace of the ids of dead scores. It must never change. */
const NAMESPACE = 'a3c2c9f4-6f0e-4f4c-9a52-0d7d3a4f9b61';

/** Builds the dead letter of a score that an exporter could not deliver. */
export function deadScore(
  exporter: string,
  score: Score,
  { round, error, attempts }: { readonly round: number; readonly error: AppError; readonly attempts: number },
): DeadLetter {
  return {
    id: uuidv5(`${exporter} ${score.scoreId} ${score.revision} ${round}`, NAMESPACE),
    source: exporter,
    topic: '',
    partition: 0,
    firstOffset: 0n,
    lastOffset: 0n,
    tenant: score.tenant,
    signal: SCORE_SIGNAL,
    encoding: 'json',
    body: Buffer.from(JSON.stringify({ round, score })),
    code: error.code,
    reason: error.message,
    attempts,
  };
}

/** Reads the revision that sends a dead score again, in the next round. Throws for bytes that are no dead score. */
export function revivedScore(body: Uint8Array): Pick<PendingExport, 'scoreId' | 'revision' | 'round'> {
  const { round, score } = JSON.parse(Buffer.from(body).toString('utf8')) as { round: number; score: Score };
  return { scoreId: score.scoreId, revision: score.revision, round: round + 1 };
}
