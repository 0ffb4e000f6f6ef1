import { AppError, findCause, readErrorMessage } from '../../domain/errors.ts';
import { JudgeError } from '../../judge/judge-error.ts';
import type { AttemptResult } from './attempt-result.ts';
import { cutText } from '../../domain/cut-text.ts';

/** Longest reason of a decision, in characters. */
const MAX_REASON_CHARS = 500;

/** Formats the reason of a decision: a stable code and a sentence on one line. */
export function formatReason(code: string, detail: string): string {
  const line = detail.replace(/\s+/g, ' ').trim();
  return cutText(line === '' ? code : `${code}: ${line}`, MAX_REASON_CHARS);
}

/** Returns the code at the begin of a reason. */
export function readReasonCode(reason: string): string {
  return reason.split(':', 1)[0] ?? '';
}

/**
 * Returns the result of an attempt that threw an error. A fault that may pass (rate limit, outage, dead key, budget) is deferred.
 * A reply that cannot be used, a refusal or an error of the scorer is final for this evidence. A stop of this process is no result.
 */
export function toFailure(error: unknown): AttemptResult {
  const appError = findCause(error, AppError);
  if (appError === null) {
    return { status: 'failed', reason: formatReason('scorer_failed', readErrorMessage(error)) };
  }
  if (appError.code === 'cancelled') {
    return { status: 'abandoned' };
  }
  const reason = formatReason(appError.code, appError.message);
  // An error of a scorer copies only the code of the judge's error that it wraps.
  const judgeError = findCause(error, JudgeError);
  const kind = judgeError?.kind;
  if (!appError.retryable) {
    return { status: 'failed', reason, kind };
  }
  const notBeforeMs = (judgeError ?? appError).details['notBeforeMs'];
  return {
    status: 'deferred',
    reason,
    kind,
    ...(typeof notBeforeMs === 'number' ? { notBeforeMs } : { retryAfterMs: appError.retryAfterMs }),
  };
}
