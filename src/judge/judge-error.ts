import { AppError, type ErrorCode } from '../domain/errors.ts';
import type { JudgeExecution } from './judge-execution.ts';

export type JudgeErrorCode = Extract<
  ErrorCode,
  `judge_${string}` | 'budget_exhausted' | 'cancelled' | 'overloaded'
>;

/** Consequence of a failed call, by its code. An error may say more: a 404 passes, and a 500 costs nothing. */
interface Failure {
  /** Short name under which failures are counted, when nothing more exact is known. */
  readonly kind: string;
  /** A later try of the same question can succeed. A refused key waits until somebody replaces it. */
  readonly mayPass: boolean;
  /** The call never reached the provider, or the provider answered with an error. */
  readonly isUnbilled: boolean;
  /** Verdict of the call about the provider: it fails, it works, or nothing. */
  readonly provider: 'fails' | 'works' | 'unknown';
  /** The provider gets more calls than it takes. */
  readonly isCrowded?: true;
}

/** The retries of docs/judges.md, by code. Repeats at once stand in `retry.ts`. */
export const FAILURES: Readonly<Record<JudgeErrorCode, Failure>> = {
  judge_rate_limited: {
    kind: 'rate limit',
    mayPass: true,
    isUnbilled: true,
    provider: 'works',
    isCrowded: true,
  },
  judge_unavailable: { kind: 'unavailable', mayPass: true, isUnbilled: false, provider: 'fails' },
  judge_unauthorised: { kind: 'no key', mayPass: true, isUnbilled: true, provider: 'fails' },
  judge_timeout: { kind: 'timeout', mayPass: true, isUnbilled: false, provider: 'fails', isCrowded: true },
  judge_malformed: { kind: 'malformed reply', mayPass: false, isUnbilled: false, provider: 'works' },
  judge_refused: { kind: 'refusal', mayPass: false, isUnbilled: false, provider: 'works' },
  judge_misconfigured: { kind: 'configuration', mayPass: false, isUnbilled: true, provider: 'works' },
  judge_window: { kind: 'window', mayPass: true, isUnbilled: true, provider: 'works' },
  budget_exhausted: { kind: 'budget', mayPass: true, isUnbilled: true, provider: 'unknown' },
  cancelled: { kind: 'cancelled', mayPass: true, isUnbilled: false, provider: 'unknown' },
  overloaded: { kind: 'queue full', mayPass: true, isUnbilled: true, provider: 'unknown' },
};

export interface JudgeErrorOptions {
  /** Short name under which failures are counted: `HTTP 500`, `web page`. Default: the name for the code. */
  readonly kind?: string | undefined;
  /**
   * True when the call certainly cost nothing: it never reached the provider, or the answer was an error. Default: by the code.
   */
  readonly isUnbilled?: boolean | undefined;
  /** True for a fault that may pass although its code is final otherwise. Default: by the code. */
  readonly mayPass?: boolean | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
  /** True when the same call may be repeated at once (after a short wait): only for 429, 5xx, 408, 409 and network faults. */
  readonly repeatable?: boolean;
  /** Text of the model's reply, where it sent one. */
  readonly rawOutput?: string | undefined;
  readonly finishReason?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Error of a question to a judge that got no usable answer. It never becomes a score. */
export class JudgeError extends AppError {
  override readonly name = 'JudgeError';
  override readonly code: JudgeErrorCode;
  readonly kind: string;
  readonly isUnbilled: boolean;
  readonly repeatable: boolean;
  readonly rawOutput: string | undefined;
  readonly finishReason: string | undefined;
  /** The question and its cost until the failure; the function that asked sets it. */
  execution: JudgeExecution | undefined;

  constructor(code: JudgeErrorCode, message: string, options: JudgeErrorOptions = {}) {
    super(message, {
      code,
      stage: 'judge',
      retryable: options.mayPass ?? FAILURES[code].mayPass,
      retryAfterMs: options.retryAfterMs,
      details: options.details,
      cause: options.cause,
    });
    this.code = code;
    this.kind = options.kind ?? FAILURES[code].kind;
    this.isUnbilled = options.isUnbilled ?? FAILURES[code].isUnbilled;
    this.repeatable = options.repeatable ?? false;
    this.rawOutput = options.rawOutput;
    this.finishReason = options.finishReason;
  }
}

/** Longest quote of a foreign text (an error body, a reply) in a message. */
const MAX_QUOTE_CHARS = 300;

/** Cuts a foreign text to the length of a quote and puts it on one line. */
export function quoteText(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > MAX_QUOTE_CHARS ? `${line.slice(0, MAX_QUOTE_CHARS)}…` : line;
}
