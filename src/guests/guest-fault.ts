import { AppError, findCause, readErrorMessage, type ErrorCode } from '../domain/errors.ts';
import { JudgeError, type JudgeErrorCode } from '../judge/judge-error.ts';

/** An error on its way between two processes. */
export interface GuestFault {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  /** Set for a failure of a judge: what failures are counted by, and when a try makes sense again. */
  readonly judge: { readonly kind: string; readonly notBeforeMs: unknown } | undefined;
}

/** Longest message of an error that crosses. */
const MAX_MESSAGE_CHARS = 4_000;

/** Describes anything thrown. The nearest error of ours in the chain of causes gives the code. */
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

/** The error of a fault, of the same kind as the one that was thrown. */
export function errorOfFault({ code, message, retryable, retryAfterMs, judge }: GuestFault): AppError {
  return judge === undefined
    ? new AppError(message, { code, stage: 'judge', retryable, retryAfterMs })
    : new JudgeError(code as JudgeErrorCode, message, {
        kind: judge.kind,
        retryAfterMs,
        details: { notBeforeMs: judge.notBeforeMs },
      });
}

/** A thrown object may have no text at all, or throw when it is read. */
function describe(thrown: unknown): string {
  try {
    return readErrorMessage(thrown);
  } catch {
    return 'an error that cannot be read';
  }
}
