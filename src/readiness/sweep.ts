import { refKey, type TraceRef } from './arrival-feed.ts';
import { ROOTLESS_WAITS, type ReadinessSettings } from './readiness.ts';

/** Range of a sweep, milliseconds. */
export const SWEEP_BACK_MS = 48 * 3_600_000;
export const SWEEP_EVERY_MS = 10 * 60_000;

/** Most traces that one sweep takes; when it is full, the next one follows as soon as these are done. */
export const SWEEP_LIMIT = 10_000;

export interface SweptTrace extends TraceRef {
  readonly firstArrivalMs: number;
  readonly lastArrivalMs: number;
}

export interface RuleSince {
  readonly rule: string;
  readonly activeFromMs: number;
}

/** Port of the sweep: traces without a decision of some rule, or with arrivals after it, or with a retry that is due. */
export interface UndecidedFeed {
  nowMs(): Promise<number>;
  undecided(query: {
    sinceMs: number;
    nowMs: number;
    rules: readonly RuleSince[];
    shards?: readonly number[] | null;
    limit: number;
  }): Promise<SweptTrace[]>;
}

export interface SweepResult {
  readonly nowMs: number;
  /** Each with the moment (store's clock) at which it can be scored. */
  readonly found: readonly { ref: TraceRef; dueAtMs: number }[];
  /** There may be more. */
  readonly full: boolean;
}

/**
 * One sweep: the truth of what is still to do, whatever a crash, a clock or a race lost. Traces that the tail is waiting
 * for are left to it; it knows more of them.
 */
export async function sweep(
  feed: UndecidedFeed,
  options: {
    settings: ReadinessSettings;
    rules: readonly RuleSince[];
    /** Only traces of these are looked for, so that what others are to do takes up no room; null: all. */
    shards?: readonly number[] | null;
    isWaiting: (ref: TraceRef) => boolean;
    limit?: number;
  },
): Promise<SweepResult> {
  const limit = options.limit ?? SWEEP_LIMIT;
  const nowMs = await feed.nowMs();
  if (options.rules.length === 0) {
    return { nowMs, found: [], full: false };
  }
  const { rules, shards = null } = options;
  const traces = await feed.undecided({ sinceMs: nowMs - SWEEP_BACK_MS, nowMs, rules, shards, limit });
  const found = new Map<string, { ref: TraceRef; dueAtMs: number }>();
  for (const trace of traces) {
    const ref = { tenant: trace.tenant, traceId: trace.traceId };
    if (!options.isWaiting(ref)) {
      found.set(refKey(ref), { ref, dueAtMs: dueAt(trace, options.settings) });
    }
  }
  return { nowMs, found: [...found.values()], full: traces.length >= limit };
}

/** Spans' parents are not known here, so the rule for traces without a root stands in for all. */
function dueAt(trace: SweptTrace, settings: ReadinessSettings): number {
  const whenQuiet = trace.lastArrivalMs + ROOTLESS_WAITS * settings.decisionWaitMs;
  return Math.min(whenQuiet, trace.firstArrivalMs + settings.maxWaitMs);
}
