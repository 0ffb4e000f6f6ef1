import { readReasonCode, formatReason } from './attempt-failure.ts';
import type { Cell } from './cell.ts';
import type { ScorerAttempt } from './attempt-result.ts';

const CODE = 'judge_malformed';

/** The number of the attempt is in the reason of the decision, so that a restart does not lose it. */
const COUNTED = /^judge_malformed: try (\d+) of \d+: /;

/**
 * Defers an attempt whose judge gave a reply that cannot be used: the next reply of the model may be good.
 * @param attempts Number of such replies in a row after which the attempt fails.
 */
export function deferMalformed(cell: Cell, attempt: ScorerAttempt, attempts: number): ScorerAttempt {
  const { result } = attempt;
  if (result.status !== 'failed' || readReasonCode(result.reason) !== CODE || attempts === 1) {
    return attempt;
  }
  const { kind } = result;
  const tries = countEarlierTries(cell) + 1;
  const detail = result.reason.slice(CODE.length + 1).trim();
  const reason = formatReason(CODE, `try ${Math.min(tries, attempts)} of ${attempts}: ${detail}`);
  return { ...attempt, result: { status: tries < attempts ? 'deferred' : 'failed', reason, kind } };
}

/** Counts the replies in a row that could not be used, on the same evidence by the same scorer. */
function countEarlierTries({ prior, hash, bound }: Cell): number {
  const isSame = prior?.evidenceHash === hash && prior.fingerprint === bound.fingerprint;
  return isSame && prior.status === 'deferred' ? Number(COUNTED.exec(prior.reason)?.[1] ?? 0) : 0;
}
