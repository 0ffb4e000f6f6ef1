import { AppError, findCause, readErrorMessage } from '../../domain/errors.ts';
import { JudgeError } from '../../judge/judge-error.ts';
import type { AttemptResult } from './attempt-result.ts';

/** Longest reason of a decision, in characters. */
const MAX_REASON_CHARS = 500;

/** A stable code and a sentence, as decisions carry it. */
export function formatReason(code: string, detail: string): string {
  const line = detail.replace(/\s+/g, ' ').trim();
  const text = line === '' ? code : `${code}: ${line}`;
  return text.length > MAX_REASON_CHARS ? `${text.slice(0, MAX_REASON_CHARS - 1)}…` : text;
}

/** The code that a reason begins with. */
export function formatCode(reason: string): string {
  return reason.split(':', 1)[0] ?? '';
}

/**
 * Result of an attempt for a thrown error. A fault that may pass (rate limit, outage, dead key, budget) is deferred; an
 * unusable reply, a refusal or a scorer that throws is final for this evidence; our own stop gives no result.
 */
export function toFailure(error: unknown): AttemptResult {
  const known = findCause(error, AppError);
  if (known === null) {
    return { status: 'failed', reason: formatReason('scorer_failed', readErrorMessage(error)) };
  }
  if (known.code === 'cancelled') {
    return { status: 'abandoned' };
  }
  const reason = formatReason(known.code, known.message);
  // A scorer's own error has the code of the judge's error that it wraps, and no more of it.
  const judgeError = findCause(error, JudgeError);
  const kind = judgeError?.kind;
  if (!known.retryable) {
    return { status: 'failed', reason, kind };
  }
  const notBeforeMs = (judgeError ?? known).details['notBeforeMs'];
  return {
    status: 'deferred',
    reason,
    kind,
    ...(typeof notBeforeMs === 'number' ? { notBeforeMs } : { retryAfterMs: known.retryAfterMs }),
  };
}
