import type { SeriesFacets, SplitFacet } from '../domain/series-facets.ts';
import type { AlertEvent, AlertSegment, AlertTrace } from './alert-event.ts';
import type { Bucket } from './bucket.ts';
import type { MonitorStatus } from './monitor-status.ts';

/** Buckets of one length whose start lies in [fromMs, toMs), Unix milliseconds. */
export interface BucketRange {
  readonly intervalMs: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Scores that came in a bucket and were not folded, by the reason. */
export interface SetAside {
  /** Their scorer has no range or no direction. */
  readonly refused: number;
  /** The same score was there within the hour before. */
  readonly repeated: number;
  readonly rescored: number;
  /** Scored more than an hour after the last span. */
  readonly late: number;
  /** Scored for another reason than the uniform draw. */
  readonly notUniform: number;
  /** Of a backfill, a person, or another program. */
  readonly notLive: number;
}

/** Content of one closed bucket of a series, with its facets. */
export interface SeriesBucket {
  readonly series: SeriesFacets;
  readonly bucket: Bucket;
  readonly aside: SetAside;
}

/** States of a rule after a bucket, each as text. */
export interface Checkpoint {
  readonly bucketMs: number;
  readonly states: readonly { readonly series: SeriesFacets; readonly state: string }[];
}

/** Evidence of an alert for people. */
export interface Explanation {
  readonly worstTraces: readonly AlertTrace[];
  readonly segments: readonly AlertSegment[];
  /** Versions of the service and of the agent in most of the scores; '' where none is known. */
  readonly serviceVersion: string;
  readonly agentVersion: string;
}

/** Port of monitors to the store. Every write can be repeated. Times are Unix milliseconds by the store's clock. */
export interface MonitorStore {
  nowMs(): Promise<number>;
  /** Arrival of the oldest score that can still be folded into a bucket; null for none. */
  firstArrivalMs(): Promise<number | null>;
  /** Start of the oldest stored bucket of this length; null for none. */
  firstBucketMs(intervalMs: number): Promise<number | null>;
  /** Start of the latest bucket that is done with; null before the first. */
  progress(intervalMs: number): Promise<number | null>;
  markProgress(intervalMs: number, bucketMs: number): Promise<void>;
  /**
   * Stores what all series received in these buckets, parted as is said ([] for not); the same again each time, once all that
   * was written is visible.
   */
  close(range: BucketRange, by: readonly SplitFacet[]): Promise<void>;
  /** Stored buckets in order of time, of all series or of one. Series that received nothing are not among them. */
  buckets(range: BucketRange, series?: SeriesFacets): AsyncIterable<readonly SeriesBucket[]>;
  /** The latest complete one; null for none. */
  checkpoint(ruleKey: string): Promise<Checkpoint | null>;
  writeCheckpoint(ruleKey: string, checkpoint: Checkpoint): Promise<void>;
  writeStatus(statuses: readonly MonitorStatus[]): Promise<void>;
  /** Summary of a series' folded scores from `fromMs` to `toMs`. */
  explain(series: SeriesFacets, fromMs: number, toMs: number): Promise<Explanation>;
  readonly alerts: {
    write(events: readonly AlertEvent[]): Promise<void>;
    known(ids: readonly string[]): Promise<Set<string>>;
    open(): Promise<AlertEvent[]>;
    /** Its beginning, and its end where it has one. */
    incident(incidentId: string): Promise<AlertEvent[]>;
    acknowledged(): Promise<Map<string, number>>;
  };
}
