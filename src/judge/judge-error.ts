import { AppError, type ErrorCode } from '../domain/errors.ts';
import type { JudgeExecution } from './judge-execution.ts';

/** Codes with which a question to a judge can fail. */
export type JudgeErrorCode = Extract<
  ErrorCode,
  `judge_${string}` | 'budget_exhausted' | 'cancelled' | 'overloaded'
>;

/**
 * True where a later try of the same question can succeed. A refused key is retryable: the question waits until somebody
 * replaces the key.
 */
const RETRYABLE: Record<JudgeErrorCode, boolean> = {
  judge_rate_limited: true,
  judge_unavailable: true,
  judge_unauthorised: true,
  judge_timeout: true,
  judge_malformed: false,
  judge_refused: false,
  judge_misconfigured: false,
  judge_window: true,
  budget_exhausted: true,
  cancelled: true,
  overloaded: true,
};

/** Kind of a failure for each code, used when nothing more exact is known. */
const KINDS: Record<JudgeErrorCode, string> = {
  judge_rate_limited: 'rate limit',
  judge_unavailable: 'unavailable',
  judge_unauthorised: 'no key',
  judge_timeout: 'timeout',
  judge_malformed: 'malformed reply',
  judge_refused: 'refusal',
  judge_misconfigured: 'configuration',
  judge_window: 'window',
  budget_exhausted: 'budget',
  cancelled: 'cancelled',
  overloaded: 'queue full',
};

/** Codes of calls that the provider answered with an error, or that never reached it. */
const UNBILLED: ReadonlySet<JudgeErrorCode> = new Set([
  'judge_rate_limited',
  'judge_unauthorised',
  'judge_misconfigured',
  'judge_window',
  'budget_exhausted',
  'overloaded',
]);

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
      retryable: options.mayPass ?? RETRYABLE[code],
      retryAfterMs: options.retryAfterMs,
      details: options.details,
      cause: options.cause,
    });
    this.code = code;
    this.kind = options.kind ?? KINDS[code];
    this.isUnbilled = options.isUnbilled ?? UNBILLED.has(code);
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
