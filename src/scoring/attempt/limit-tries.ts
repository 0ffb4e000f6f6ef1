import { readReasonCode, formatReason } from './attempt-failure.ts';
import type { Cell } from './cell.ts';
import type { ScorerAttempt } from './attempt-result.ts';

/** Faults of a judge that the next try may not have, but that must not be tried for ever: each try may cost money. */
const CODES: readonly string[] = ['judge_malformed', 'judge_timeout'];

/** The number of the try is in the reason of the decision, so that a restart does not lose it. */
const COUNTED = /^(?:judge_malformed|judge_timeout): try (\d+) of \d+: /;

/**
 * Defers an attempt whose judge gave a reply that cannot be used, or none in time.
 * @param attempts number of such tries in a row after which the attempt fails
 */
export function limitTries(cell: Cell, attempt: ScorerAttempt, attempts: number): ScorerAttempt {
  const { result } = attempt;
  const code =
    result.status === 'failed' || result.status === 'deferred' ? readReasonCode(result.reason) : '';
  // A single try that fails needs no count. One that was to wait may not wait for ever.
  if (!CODES.includes(code) || !('reason' in result) || (attempts === 1 && result.status === 'failed')) {
    return attempt;
  }
  const tries = countEarlierTries(cell) + 1;
  const detail = result.reason.slice(code.length + 1).trim();
  const reason = formatReason(code, `try ${Math.min(tries, attempts)} of ${attempts}: ${detail}`);
  return { ...attempt, result: { ...result, status: tries < attempts ? 'deferred' : 'failed', reason } };
}

/** Counts the tries in a row that brought no usable reply, on the same evidence by the same scorer. */
function countEarlierTries({ prior, hash, bound }: Cell): number {
  const isSame = prior?.evidenceHash === hash && prior.fingerprint === bound.fingerprint;
  return isSame && prior.status === 'deferred' ? Number(COUNTED.exec(prior.reason)?.[1] ?? 0) : 0;
}
