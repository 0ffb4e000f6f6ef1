import type { SeriesFacets, SplitFacet } from '../domain/series-facets.ts';
import type { AlertEvent, AlertTrace } from './alert-event.ts';
import type { AlertCause } from './attribution/explain-change.ts';
import type { Bucket } from './bucket.ts';
import type { MonitorStatus } from './monitor-status.ts';

/** Buckets of one length with a start in [fromMs, toMs), Unix milliseconds. */
export interface BucketRange {
  readonly intervalMs: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Scores of a bucket that were not folded, counted by reason. */
export interface SetAside {
  /** Scores of a scorer without a range or a direction. */
  readonly refused: number;
  /** Scores that already existed within the hour before. */
  readonly repeated: number;
  readonly rescored: number;
  /** Scores that were made more than an hour after the last span. */
  readonly late: number;
  /** Scores of traces that were selected by another rule than uniform sampling. */
  readonly notUniform: number;
  /** Scores of a backfill, a person, or another program. */
  readonly notLive: number;
}

/** Content of one closed bucket of a series, with its facets. */
export interface SeriesBucket {
  readonly series: SeriesFacets;
  readonly bucket: Bucket;
  readonly aside: SetAside;
}

/** Time in which one process could evaluate monitors, Unix milliseconds: from its first to its last beat. */
export interface ProcessRun {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Serialized states of a rule after a bucket. */
export interface Checkpoint {
  readonly bucketMs: number;
  readonly states: readonly { readonly series: SeriesFacets; readonly state: string }[];
}

/** Evidence of an alert for people. */
export interface Explanation {
  readonly worstTraces: readonly AlertTrace[];
  readonly cause: AlertCause | null;
  /** Versions of the service and of the agent in most of the scores; '' when unknown. */
  readonly serviceVersion: string;
  readonly agentVersion: string;
  /** Mean of the directed scores of the week before the change; null or absent without any. */
  readonly meanBefore?: number | null;
}

export interface JudgeDrift {
  readonly firing: AlertEvent;
  /** Unix milliseconds; null while it is open, or not accepted. */
  readonly endedMs: number | null;
  readonly acknowledgedMs: number | null;
}

/** Duty of the process that evaluates the monitors. Every scorer process joins it, so its members tell the runs. */
export const MONITOR_DUTY = 'monitors';

/** The part of the store that monitors use. Every write can be repeated. Times are Unix milliseconds by the store's clock. */
export interface MonitorStore {
  nowMs(): Promise<number>;
  /** Returns the arrival of the oldest score that can still be folded; null without one. */
  firstArrivalMs(): Promise<number | null>;
  /** Returns the start of the oldest stored bucket of this length; null without one. */
  firstBucketMs(intervalMs: number): Promise<number | null>;
  /** Lists the runs of the last day at least, by their start. */
  runs(): Promise<readonly ProcessRun[]>;
  /** Returns the start of the latest finished bucket; null before the first. */
  progress(intervalMs: number): Promise<number | null>;
  markProgress(intervalMs: number, bucketMs: number): Promise<void>;
  /**
   * Stores the scores of all series in these buckets, split by these facets ([] for no split). A repeat stores the same, once
   * all writes of the range are visible.
   */
  close(range: BucketRange, by: readonly SplitFacet[]): Promise<void>;
  /** Reads stored buckets in order of time, of all series or of one. A series without scores in a bucket has no row. */
  buckets(range: BucketRange, series?: SeriesFacets): AsyncIterable<readonly SeriesBucket[]>;
  /** Reads the latest complete checkpoint; null without one. */
  checkpoint(ruleKey: string): Promise<Checkpoint | null>;
  writeCheckpoint(ruleKey: string, checkpoint: Checkpoint): Promise<void>;
  writeStatus(statuses: readonly MonitorStatus[]): Promise<void>;
  /** Summarises the folded scores of a series from `fromMs` to `toMs`. */
  explain(series: SeriesFacets, fromMs: number, toMs: number): Promise<Explanation>;
  /** Counts the scores of a series from `fromMs` to `toMs` that came too late to be folded. */
  countLate(series: SeriesFacets, fromMs: number, toMs: number): Promise<number>;
  /** Returns true where the judge of a series has anchors. */
  hasAnchors(series: SeriesFacets): Promise<boolean>;
  readonly alerts: {
    write(events: readonly AlertEvent[]): Promise<void>;
    known(ids: readonly string[]): Promise<Set<string>>;
    open(): Promise<AlertEvent[]>;
    /** Reads the beginning of an incident, and its end where it has one. */
    incident(incidentId: string): Promise<AlertEvent[]>;
    acknowledged(): Promise<Map<string, number>>;
    /** Reads the incidents of judges, the oldest first. */
    judgeDrifts(): Promise<JudgeDrift[]>;
  };
}
