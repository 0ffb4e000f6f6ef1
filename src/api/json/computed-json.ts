import { WHOLE_RULE } from '../../domain/decision.ts';
import type { TraceKey } from '../../store/contracts/stores.ts';
import { isoTime } from './time-json.ts';

/** Reason why a rule has no decision on a trace. It is computed, not stored. */
export interface ComputedDecision extends TraceKey {
  /** `*` for every rule. */
  readonly rule: string;
  readonly status: string;
  readonly reason: string;
  /** Time of the next check, Unix milliseconds. */
  readonly dueAtMs: number | null;
}

/** Formats a computed line in the shape of a decision row, with a mark that it is not stored. */
export function computedJson({ dueAtMs, ...rest }: ComputedDecision) {
  return { ...rest, scorer: WHOLE_RULE, nextAttemptAt: isoTime(dueAtMs), computed: true as const };
}
