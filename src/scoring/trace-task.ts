import type { AppError } from '../domain/errors.ts';
import type { Decision } from '../domain/decision.ts';
import type { Score } from '../domain/score.ts';
import type { TraceData } from '../domain/span.ts';
import type { TraceActivity, TraceKey } from '../store/contracts/stores.ts';
import type { PreparedRule } from './select/rule.ts';
import type { DeclinedRule, SelectedRule } from './select/selection.ts';
import type { StoreClock } from './store-clock.ts';

/** A trace that is a piece of the run which another one owns. */
export interface PartOfRun {
  /** Trace id of the owner. */
  readonly partOf: string;
}

/** One trace whose content has been read. */
export interface TraceTask {
  readonly key: TraceKey;
  /** Whose owner may work on it: itself, or the piece of its run that came. */
  readonly lease: TraceKey;
  /** As it was before the content was read. */
  readonly activity: TraceActivity;
  /** Its spans and logs, or why they cannot be read; null when no rule wants them. */
  readonly read: TraceData | AppError | PartOfRun | null;
  readonly rules: readonly SelectedRule[];
  readonly declined: readonly DeclinedRule[];
  /** Rules that have nothing to do: what they yield is left alone. */
  readonly settled: readonly PreparedRule[];
  /** Current scores of the trace. */
  readonly existing: readonly Score[];
  readonly reread: boolean;
  readonly clock: StoreClock;
}

/** Result of one trace. */
export interface TraceOutcome {
  readonly key: TraceKey;
  /** Activity of the trace; null when no agent or model span of it is stored. */
  readonly activity: TraceActivity | null;
  /** Rows that were decided now, written or not. */
  readonly decisions: readonly Decision[];
  /** Scores that were computed now. */
  readonly scores: readonly Score[];
  /** Scores that were withdrawn. */
  readonly tombstones: readonly Score[];
  /** It still arrives: when to look again, by the store's clock. */
  readonly waitUntilMs: number | null;
  /** Work on it broke off: nothing is decided for what is missing, and it can be done again. */
  readonly error: AppError | null;
}

export function emptyOutcome(key: TraceKey, parts: Partial<TraceOutcome> = {}): TraceOutcome {
  return {
    key: { tenant: key.tenant, traceId: key.traceId },
    activity: null,
    decisions: [],
    scores: [],
    tombstones: [],
    waitUntilMs: null,
    error: null,
    ...parts,
  };
}
