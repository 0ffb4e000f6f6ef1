import type { AppError } from '../domain/errors.ts';
import type { Decision } from '../domain/decision.ts';
import type { RunRecord } from '../domain/run-record.ts';
import type { Score } from '../domain/score.ts';
import type { TraceData } from '../domain/trace/span.ts';
import type { Claim } from '../ownership/claim.ts';
import type { LeftRuns, Room } from './attempt/run-stock.ts';
import type { TraceActivity, TraceFacts, TraceKey } from '../store/contracts/stores.ts';
import type { PreparedRule } from './select/rule.ts';
import type { DeclinedRule, SelectedRule } from './select/selection.ts';
import type { SessionContent } from './sessions/session-content.ts';
import type { StoreClock } from './store-clock.ts';

/** A trace that is a piece of a run; another trace owns the run. */
interface PartOfRun {
  /** Trace id of the owner. */
  readonly partOf: string;
}

/** One trace or session whose content has been read. */
export interface TraceTask {
  readonly key: TraceKey;
  /** Claim on this trace, or on the piece of its run that became ready. */
  readonly claim: Claim;
  /** Activity from before the content was read. */
  readonly activity: TraceActivity;
  /** Spans and logs, or the reason why they cannot be read; null when no rule needs them. */
  readonly read: TraceData | AppError | PartOfRun | SessionContent | null;
  readonly rules: readonly SelectedRule[];
  readonly declined: readonly DeclinedRule[];
  /** Rules that have decided the trace: their scores stay. */
  readonly settled: readonly PreparedRule[];
  /** Facts from the query without content; undefined when nobody asked for them. */
  readonly facts: TraceFacts | undefined;
  /** Current rows of `runs` of a trace that was seen before. */
  readonly knownRuns: readonly RunRecord[];
  /** Current scores of the trace. */
  readonly existing: readonly Score[];
  /** Time at which `existing` was read, milliseconds of the monotonic clock. */
  readonly existingReadMs: number;
  readonly reread: boolean;
  /** Time since which the trace could be scored, Unix milliseconds by the store's clock; undefined where nothing waited for it. */
  readonly readyAtMs?: number | undefined;
  /** Room for the runs that an earlier pass left; undefined in a first pass. */
  readonly room: Room | undefined;
  readonly clock: StoreClock;
}

/** Returns true for the content of one trace, or of a run of several traces. */
export function isTraceData(read: TraceTask['read']): read is TraceData {
  return read !== null && 'spans' in read;
}

/** Result of one trace. */
export interface TraceOutcome {
  readonly key: TraceKey;
  /** Activity of the trace; null when no agent or model span of it is stored. */
  readonly activity: TraceActivity | null;
  /** Rows of this pass, also when the mode does not write them. */
  readonly decisions: readonly Decision[];
  /** Scores that were computed now. */
  readonly scores: readonly Score[];
  /** Scores that were withdrawn. */
  readonly tombstones: readonly Score[];
  /** Time at which a trace that still arrives is ready, by the store's clock; else null. */
  readonly waitUntilMs: number | null;
  /** Earlier rows whose next attempt is in the future. Only for a trace that needs no work now. */
  readonly postponed: readonly Decision[];
  /** Runs that found no room, by stock: their scorers decide in later passes. */
  readonly left: readonly LeftRuns[];
  /** Error that broke the pass off: missing decisions come with the next pass. */
  readonly error: AppError | null;
}

/** Builds an outcome; parts that are not given are empty. */
export function buildOutcome(key: TraceKey, parts: Partial<TraceOutcome> = {}): TraceOutcome {
  return {
    key: { tenant: key.tenant, traceId: key.traceId },
    activity: null,
    decisions: [],
    scores: [],
    tombstones: [],
    waitUntilMs: null,
    postponed: [],
    left: [],
    error: null,
    ...parts,
  };
}
