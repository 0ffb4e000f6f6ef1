import { AppError, type ErrorCode } from '../domain/errors.ts';
import type { JudgeExecution } from './judge-execution.ts';

/** The codes that a question to a judge can end in. */
export type JudgeErrorCode = Extract<
  ErrorCode,
  `judge_${string}` | 'budget_exhausted' | 'cancelled' | 'overloaded'
>;

/**
 * True where a later try of the same question can succeed. A dead key counts as retryable: the question waits until somebody
 * replaces it.
 */
const RETRYABLE: Record<JudgeErrorCode, boolean> = {
  judge_rate_limited: true,
  judge_unavailable: true,
  judge_unauthorised: true,
  judge_timeout: true,
  judge_malformed: false,
  judge_refused: false,
  judge_misconfigured: false,
  budget_exhausted: true,
  cancelled: true,
  overloaded: true,
};

/** The kind of a failure, where nothing more exact is known of it. */
const KINDS: Record<JudgeErrorCode, string> = {
  judge_rate_limited: 'rate limit',
  judge_unavailable: 'unavailable',
  judge_unauthorised: 'no key',
  judge_timeout: 'timeout',
  judge_malformed: 'malformed reply',
  judge_refused: 'refusal',
  judge_misconfigured: 'configuration',
  budget_exhausted: 'budget',
  cancelled: 'cancelled',
  overloaded: 'queue full',
};

/** Codes of calls that the provider answered with an error, or never got. */
const UNBILLED: ReadonlySet<JudgeErrorCode> = new Set([
  'judge_rate_limited',
  'judge_unauthorised',
  'judge_misconfigured',
  'budget_exhausted',
  'overloaded',
]);

export interface JudgeErrorOptions {
  /** A short name that failures are counted by: `HTTP 500`, `web page`. Default: one for the code. */
  readonly kind?: string | undefined;
  /** The call cost nothing for certain: it never arrived, or was answered with an error. Default: by the code. */
  readonly isUnbilled?: boolean | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
  /** The same call may be repeated at once (after a short wait): 429, 5xx, 408, 409 and network faults only. */
  readonly repeatable?: boolean;
  /** Text of the model's reply, where there was one. */
  readonly rawOutput?: string | undefined;
  readonly finishReason?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** A question to a judge that got no usable answer. Never a score. */
export class JudgeError extends AppError {
  override readonly name = 'JudgeError';
  override readonly code: JudgeErrorCode;
  readonly kind: string;
  readonly isUnbilled: boolean;
  readonly repeatable: boolean;
  readonly rawOutput: string | undefined;
  readonly finishReason: string | undefined;
  /** Question and cost until the failure; set by the asking functions. */
  execution: JudgeExecution | undefined;

  constructor(code: JudgeErrorCode, message: string, options: JudgeErrorOptions = {}) {
    super(message, {
      code,
      stage: 'judge',
      retryable: RETRYABLE[code],
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

/** Longest piece of foreign text (an error body, a reply) that goes into a message. */
const MAX_QUOTE_CHARS = 300;

/** Foreign text cut to a length that a message can carry, on one line. */
export function quoteText(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > MAX_QUOTE_CHARS ? `${line.slice(0, MAX_QUOTE_CHARS)}…` : line;
}
