import type { Score, Verdict } from '../../domain/score.ts';
import type { JudgeCall } from '../../judge/judge-execution.ts';

/** One value that a scorer gave. */
export interface ScoreValue {
  /** '' for the scorer's own score, else the name of a further one. */
  readonly name: string;
  readonly score: number;
  readonly label: string;
  readonly reason: string;
  readonly verdicts: readonly Verdict[];
  readonly higherIsBetter: boolean | null;
  readonly range: readonly [number, number] | null;
}

/** The result of one try of a scorer. */
export type AttemptResult =
  | { readonly status: 'scored'; readonly values: readonly ScoreValue[] }
  | {
      readonly status: 'not_applicable' | 'failed';
      readonly reason: string;
      /** A short name that failures are counted by, as `HTTP 401`. Absent: the code of the reason. */
      readonly kind?: string | undefined;
    }
  | {
      readonly status: 'deferred';
      readonly reason: string;
      readonly kind?: string | undefined;
      /** Wait that the other side asked for, milliseconds. */
      readonly retryAfterMs?: number | undefined;
      /** A moment (store's clock) before which a try makes no sense. */
      readonly notBeforeMs?: number | undefined;
      /** It was not tried at all: there was no room in a queue. */
      readonly queueFull?: true;
    }
  /** Stopped by us, without an outcome: whoever owns the trace scores it later. */
  | { readonly status: 'abandoned' };

/** Cost of an attempt, with any result. */
export interface AttemptCost {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** 0 without any call; null when a call's price is unknown. */
  readonly costUsd: number | null;
  readonly judgeCalls: number;
  /** Questions that needed no call, since the judge had answered the very same one before. */
  readonly reusedAnswers: number;
  readonly durationMs: number;
  /** The model that answered last, '' without any. */
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

/** The cost of a try from the calls that it made. */
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
    judgeModel: calls.findLast((call) => call.status === 'success')?.model ?? reused.at(-1) ?? '',
    ...extra,
  };
}

/** A failed call without a price cost nothing that is known of; an answered one without a price makes the sum unknown. */
function sumCostUsd(calls: readonly JudgeCall[]): number | null {
  if (calls.some((call) => call.cost === undefined && call.status === 'success')) {
    return null;
  }
  return calls.reduce((sum, call) => sum + (call.cost ?? 0), 0);
}

function sumKnown(counts: readonly (number | undefined)[]): number | null {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0);
}
