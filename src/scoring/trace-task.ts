import type { AgentRun } from '../domain/trace/agent-run.ts';
import type { AppError } from '../domain/errors.ts';
import type { Decision, Stratum } from '../domain/decision.ts';
import type { RunRecord } from '../domain/run-record.ts';
import type { Score } from '../domain/score.ts';
import type { TraceData } from '../domain/trace/span.ts';
import type { Claim } from '../ownership/ownership.ts';
import type { WaitingRuns, Reservation } from './live/queue.ts';
import type { TraceActivity, TraceFacts, TraceKey } from '../store/contracts/stores.ts';
import type { PreparedRule, PreparedScorer } from './select/rule.ts';
import type { StoreClock } from './live/timers.ts';
import { showUsd } from '../domain/money/usd.ts';
import type { VersionRequest, VersionState } from './select/new-versions.ts';
import type { PriorityFacts, RunSize, SamplePlan } from './select/sample-trace.ts';

/** A trace or a session whose content is not read yet. */
export interface TraceCandidate {
  /** Activity from before the content was read. */
  readonly activity: TraceActivity;
  /** Set for a session, whose activity has no trace id. The number for sampling is drawn from `samplingId`. */
  readonly session?: { readonly targetId: string; readonly samplingId: string };
  /** Claim on this trace, or on the piece of its run that became ready. */
  readonly claim: Claim;
  /** Current decisions of the trace. */
  readonly prior: readonly Decision[];
  readonly reread: boolean;
  /** Time since which the trace could be scored, Unix milliseconds by the store's clock; undefined where nothing waited for it. */
  readonly readyAtMs?: number | undefined;
  /** Slots for the runs that an earlier pass left waiting; undefined in a first pass. */
  readonly reservation?: Reservation | undefined;
  readonly nowMs: number;
}

export interface KnownFacts {
  /** Facts from the query without content; undefined when nobody asked for them. */
  readonly facts: TraceFacts | undefined;
  /** Place among the first traces of versions, by the rule's name; absent for a trace that is late for each rule. */
  readonly versions?: VersionStates | undefined;
}

export type VersionStates = ReadonlyMap<
  string,
  { readonly request: VersionRequest; readonly state: VersionState }
>;

/** Facts about a trace from the store before its content is read. */
export interface TraceLookups extends KnownFacts {
  readonly existing: readonly Score[];
  /** Time at which `existing` was read, milliseconds of the monotonic clock. */
  readonly existingReadMs: number;
  /** Current rows of `runs` of a trace that was seen before. */
  readonly knownRuns: readonly RunRecord[];
  readonly clock: StoreClock;
}

/** One trace or session whose content has been read. */
export interface TraceTask extends TraceCandidate, TraceLookups {
  readonly key: TraceKey;
  /**
   * Spans and logs, or the reason why they cannot be read; null when no rule needs them. `partOf`: the trace is a piece of a run that
   * the trace with this id owns.
   */
  readonly read: TraceData | AppError | { readonly partOf: string } | SessionContent | null;
  /** Called when the spans are not needed any more. */
  readonly onRead?: (() => void) | undefined;
  readonly rules: readonly SelectedRule[];
  readonly declined: readonly DeclinedRule[];
  /** Rules that have decided the trace: their scores stay. */
  readonly settled: readonly PreparedRule[];
}

/** Returns true for the content of one trace, or of a run of several traces. */
export function isTraceData(read: TraceTask['read']): read is TraceData {
  return read !== null && 'spans' in read;
}

export interface TraceOutcome {
  readonly key: TraceKey;
  /** Activity of the trace; null when no agent or model span of it is stored. */
  readonly activity: TraceActivity | null;
  /** Rows of this pass, also when the mode does not write them. */
  readonly decisions: readonly Decision[];
  /** Scores that were computed now. */
  readonly scores: readonly Score[];
  readonly tombstones: readonly Score[];
  /** Time at which a trace that still arrives is ready, by the store's clock; else null. */
  readonly waitUntilMs: number | null;
  /** Earlier rows whose next attempt is in the future. Only for a trace that needs no work now. */
  readonly postponed: readonly Decision[];
  /** Runs that got no slots, by slots: their scorers decide in later passes. */
  readonly waiting: readonly WaitingRuns[];
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
    waiting: [],
    error: null,
    ...parts,
  };
}

/** Sampling of a trace: its stratum, the probability of being scored and the weight of its scores. */
export interface Selection {
  readonly stratum: Stratum;
  readonly inclusionProbability: number;
  readonly weight: number | null;
}

/** Sample of a rule whose answer needs the content of the trace, or comes after a condition that does. */
export interface PendingChoice {
  readonly targetId: string;
  /** Text from which the number for sampling is drawn. */
  readonly samplingId: string;
  readonly plan: SamplePlan;
  readonly priority: PriorityFacts;
  readonly facts: TraceFacts | undefined;
  /** Place among the first traces of a version that the trace asks for; null when it has one, or all are taken. */
  readonly versionRequest: VersionRequest | null;
}

/** A rule that scores a trace, or that decides when the content of the trace is read. */
export interface SelectedRule {
  readonly rule: PreparedRule;
  /** Scorers of the rule when the trace arrived. */
  readonly scorers: readonly PreparedScorer[];
  readonly selection: Selection;
  /** Null when the choice is made. */
  readonly pending: PendingChoice | null;
  /** Current decisions of the rule on the trace. */
  readonly prior: readonly Decision[];
}

/** A rule that does not score a trace: its condition does not match, or the sample leaves the trace out. */
export interface DeclinedRule {
  readonly rule: PreparedRule;
  /** The new row of the rule, and a new row for each earlier one. */
  readonly rows: readonly Decision[];
}

export type RuleSelection =
  | { readonly outcome: 'selected'; readonly selected: SelectedRule }
  | ({ readonly outcome: 'declined' } & DeclinedRule);

/** Describes why the sample leaves a trace out. `sizes` are those of its runs; absent when the content was not read. */
export function describeSample({ rate }: SamplePlan, sizes?: readonly RunSize[]): string {
  const share = `not among the ${Number((rate * 100).toPrecision(6))} % that the rule scores`;
  if (sizes === undefined || sizes.length === 0) {
    return share;
  }
  const runs = sizes
    .slice(0, MOST_SHOWN)
    .map(
      ({ tokens, costUsd }) =>
        `${tokens ?? 'unknown'} tokens, ${costUsd === null ? 'unknown cost' : `${showUsd(costUsd)} USD`}`,
    );
  return `${share}, and sample.always does not name it (${runs.join('; ')})`;
}

/** Most runs that a reason describes. */
const MOST_SHOWN = 3;

/** A session that was read as one conversation. */
export interface SessionContent {
  readonly session: AgentRun;
  readonly turns: number;
  /** True when turns were left out: the session has more than are read at once. */
  readonly isPartial: boolean;
}
