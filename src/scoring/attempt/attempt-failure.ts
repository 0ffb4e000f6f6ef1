import type { Score, Verdict } from '../../domain/score.ts';
import type { JudgeCall } from '../../judge/judge-execution.ts';
import { AppError, findCause, readErrorMessage } from '../../domain/errors.ts';
import { JudgeError } from '../../judge/judge-error.ts';
import { cutText } from '../../domain/cut-text.ts';

export interface ScoreValue {
  /** '' for the scorer's own score, else the name of a further score. */
  readonly name: string;
  readonly score: number;
  /** Mean probability of the winning options; null for a judge that gives none. */
  readonly confidence: number | null;
  /** Judge of a cascade that was asked last; 0 without a cascade. */
  readonly rung: 0 | 1 | 2;
  /** Probability with which the second judge of a cascade was asked. */
  readonly rungProbability: number | null;
  /** Score by the first judge. */
  readonly firstScore: number;
  readonly label: string;
  readonly reason: string;
  readonly verdicts: readonly Verdict[];
  readonly higherIsBetter: boolean | null;
  readonly range: readonly [number, number] | null;
}

export type AttemptResult =
  | {
      readonly status: 'scored';
      readonly values: readonly ScoreValue[];
      /** Fingerprint of a stored score that stands. Absent: the scorer ran. */
      readonly standing?: string;
    }
  | {
      readonly status: 'not_applicable' | 'failed';
      readonly reason: string;
      /** Short name under which failures are counted, such as `HTTP 401`. Absent: the code of the reason. */
      readonly kind?: string | undefined;
    }
  | {
      readonly status: 'deferred';
      readonly reason: string;
      readonly kind?: string | undefined;
      /** Wait that the provider asked for, milliseconds. */
      readonly retryAfterMs?: number | undefined;
      /** Time before which an attempt cannot succeed, Unix milliseconds by the store's clock. */
      readonly notBeforeMs?: number | undefined;
    }
  /** Stopped by this process without a result: the owner of the trace scores it later. */
  | { readonly status: 'abandoned' };

/** Cost of an attempt, whatever its result. */
export interface AttemptCost {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** 0 without a call; null when the price of a call is unknown. */
  readonly costUsd: number | null;
  readonly judgeCalls: number;
  /** Questions that needed no call, because the judge had answered the same question before. */
  readonly reusedAnswers: number;
  readonly durationMs: number;
  /** Model that answered last; '' without an answer. */
  readonly judgeModel: string;
  readonly redactions: number;
}

export interface ScorerAttempt {
  readonly result: AttemptResult;
  readonly cost: AttemptCost;
  readonly calls: readonly JudgeCall[];
}

/** An attempt and its score rows, which are stored unless the mode only previews. */
export interface RecordedAttempt {
  readonly attempt: ScorerAttempt;
  readonly scores: readonly Score[];
}

export function sumCost(
  calls: readonly JudgeCall[],
  { reused = [], ...extra }: { durationMs: number; redactions: number; reused?: readonly string[] },
): AttemptCost {
  return {
    inputTokens: sumKnown(calls.map((call) => call.usage?.inputTokens)),
    outputTokens: sumKnown(calls.map((call) => call.usage?.outputTokens)),
    costUsd: sumCostUsd(calls),
    judgeCalls: calls.length,
    reusedAnswers: reused.length,
    judgeModel: calls.findLast(hasReply)?.model ?? reused.at(-1) ?? '',
    ...extra,
  };
}

/** A call that failed without a reply counts as free. A reply without a price makes the sum unknown. */
function sumCostUsd(calls: readonly JudgeCall[]): number | null {
  if (calls.some((call) => call.cost === undefined && hasReply(call))) {
    return null;
  }
  return calls.reduce((sum, call) => sum + (call.cost ?? 0), 0);
}

/** Returns true also for a call whose reply could not be used. */
function hasReply({ status }: JudgeCall): boolean {
  return status !== 'failed';
}

function sumKnown(counts: readonly (number | undefined)[]): number | null {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0);
}

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

const FIRST_WAIT_MS = 10_000;

const LONGEST_WAIT_MS = 3_600_000;

/** Largest random addition, as a share of a wait, so that attempts that failed together do not come back together. */
const JITTER = 0.2;

/**
 * Computes the wait before the next attempt, milliseconds: 10 s, doubled up to an hour, at least `retryAfterMs`, plus up to a
 * fifth at random (`random` in [0, 1)).
 */
export function computeBackoffMs(attempts: number, retryAfterMs: number | undefined, random: number): number {
  const doubled = FIRST_WAIT_MS * 2 ** Math.min(Math.max(attempts - 1, 0), 20);
  const wait = Math.max(Math.min(doubled, LONGEST_WAIT_MS), retryAfterMs ?? 0);
  return Math.trunc(wait * (1 + JITTER * random));
}
