import { AppError, findCause, readErrorMessage, type ErrorCode } from '../domain/errors.ts';
import { JudgeError, type JudgeErrorCode } from '../judge/judge-error.ts';

/** An error in the form in which one process sends it to another. */
export interface GuestFault {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  /** Present for a failure of a judge: the kind under which it is counted, and the earliest time of a retry. */
  readonly judge: { readonly kind: string; readonly notBeforeMs: unknown } | undefined;
}

/** Longest message of an error that is sent. */
const MAX_MESSAGE_CHARS = 4_000;

/** Describes any thrown value. The code comes from the first `AppError` in the chain of causes. */
export function readFault(thrown: unknown): GuestFault {
  const known = findCause(thrown, AppError);
  const judges = findCause(thrown, JudgeError);
  const message = describe(known ?? thrown).slice(0, MAX_MESSAGE_CHARS);
  return {
    code: known?.code ?? 'scorer_failed',
    message,
    retryable: known?.retryable ?? false,
    retryAfterMs: known?.retryAfterMs,
    judge:
      judges === null || judges.code !== known?.code
        ? undefined
        : { kind: judges.kind, notBeforeMs: judges.details['notBeforeMs'] },
  };
}

/** Builds an error from a fault, of the same class as the thrown one. */
export function createFaultError({ code, message, retryable, retryAfterMs, judge }: GuestFault): AppError {
  return judge === undefined
    ? new AppError(message, { code, stage: 'judge', retryable, retryAfterMs })
    : new JudgeError(code as JudgeErrorCode, message, {
        kind: judge.kind,
        mayPass: retryable,
        retryAfterMs,
        details: { notBeforeMs: judge.notBeforeMs },
      });
}

/** Describes a thrown value; it may have no text at all, or throw when it is read. */
function describe(thrown: unknown): string {
  try {
    return readErrorMessage(thrown);
  } catch {
    return 'an error that cannot be read';
  }
}
