import { formatCode, formatReason } from './attempt-failure.ts';
import type { Cell } from './cell.ts';
import type { ScorerAttempt } from './attempt-result.ts';

const CODE = 'judge_malformed';

/** The tries are counted in the reason of the decision, so that the count outlives a restart. */
const COUNTED = /^judge_malformed: try (\d+) of \d+: /;

/**
 * Defers a try whose judge gave a reply that cannot be used, until it was tried so often in a row: a model that is asked
 * again may well answer.
 * @param attempts how often a reply that cannot be used is asked for in all
 */
export function deferMalformed(cell: Cell, attempt: ScorerAttempt, attempts: number): ScorerAttempt {
  const { result } = attempt;
  if (result.status !== 'failed' || formatCode(result.reason) !== CODE || attempts === 1) {
    return attempt;
  }
  const { kind } = result;
  const tries = countEarlierTries(cell) + 1;
  const detail = result.reason.slice(CODE.length + 1).trim();
  const reason = formatReason(CODE, `try ${Math.min(tries, attempts)} of ${attempts}: ${detail}`);
  return { ...attempt, result: { status: tries < attempts ? 'deferred' : 'failed', reason, kind } };
}

/** Replies in a row that could not be used, of the same evidence and the same scorer. */
function countEarlierTries({ prior, hash, bound }: Cell): number {
  const isSame = prior?.evidenceHash === hash && prior.fingerprint === bound.fingerprint;
  return isSame && prior.status === 'deferred' ? Number(COUNTED.exec(prior.reason)?.[1] ?? 0) : 0;
}
