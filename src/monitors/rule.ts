import type { SplitFacet } from '../domain/series-facets.ts';
import type { Detector } from './detector.ts';
import { coverageDetector } from './detectors/coverage.ts';
import { cusumDetector } from './detectors/cusum.ts';
import { distributionDetector } from './detectors/distribution.ts';
import { type Direction, driftDetector } from './detectors/drift.ts';
import { floorDetector } from './detectors/floor.ts';
import { noDataDetector } from './detectors/no-data.ts';
import { rateDetector } from './detectors/rate.ts';
import { scorerErrorsDetector } from './detectors/scorer-errors.ts';
import { thresholdDetector } from './detectors/threshold.ts';
import type { Thresholds } from './statistics/false-alarms.ts';
import type { ReferenceTerms } from './reference.ts';
import type { PhaseTerms } from './series.ts';

/** Detector of a rule with its settings; scores are directed, times in milliseconds. */
export type Detection =
  | {
      readonly kind: 'drift';
      readonly tolerance: number;
      readonly reference: ReferenceTerms;
      readonly direction: Direction;
    }
  | { readonly kind: 'floor'; readonly minimum: number }
  | { readonly kind: 'rate'; readonly below: number; readonly maxRate: number }
  | { readonly kind: 'distribution'; readonly tolerance: number; readonly reference: ReferenceTerms }
  | { readonly kind: 'cusum'; readonly allowance: number; readonly reference: ReferenceTerms }
  | {
      readonly kind: 'threshold';
      readonly minimum: number;
      readonly recovery: number;
      readonly windowMs: number;
      readonly minScores: number;
    }
  | { readonly kind: 'no_data'; readonly afterMs: number }
  | { readonly kind: 'scorer_errors'; readonly maxRate: number }
  | { readonly kind: 'coverage'; readonly minimum: number };

/** Selector of a rule's series; an absent key splits by its values. */
export interface SeriesSelector {
  readonly scorer?: string | undefined;
  readonly agent?: string | undefined;
  readonly environment?: string | undefined;
}

/** Parts the series of a rule further. */
export interface RuleSplit {
  /** In the order of `SPLIT_FACETS`; at least one. */
  readonly by: readonly SplitFacet[];
  /** So many scores on one day (UTC) make a part a series of its own; smaller parts are not watched. */
  readonly minDailyScores: number;
}

/** A monitor rule, ready for use. */
export interface MonitorRule {
  readonly alert: string;
  readonly detection: Detection;
  readonly series: SeriesSelector;
  /** Absent: one series for each scorer, agent and environment. */
  readonly split?: RuleSplit;
  readonly terms: PhaseTerms;
  readonly paused: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The ways in which rules part series, each once; the one that does not part them comes first. */
export function buildSplits(rules: readonly Pick<MonitorRule, 'split'>[]): (readonly SplitFacet[])[] {
  const asked = rules.flatMap(({ split }) => (split === undefined ? [] : [split.by]));
  return [[], ...new Map(asked.map((by) => [by.join(), by])).values()];
}

/** Rules that share an interval and an allowance of false alarms. */
export interface MonitorGroup {
  readonly name: string;
  readonly intervalMs: number;
  /** False alarms allowed in 30 days over all series of the group. */
  readonly falseAlarmBudget: number;
  readonly rules: readonly MonitorRule[];
}

/** A detector whose state only it can read. */
export type AnyDetector = Detector<unknown>;

/** The one registry of detectors: what is here can be written in a rule. */
const DETECTORS: {
  readonly [Kind in Detection['kind']]: (
    detection: Extract<Detection, { kind: Kind }>,
    thresholds: Thresholds,
  ) => AnyDetector;
} = {
  drift: (detection, thresholds) => eraseState(driftDetector({ ...detection, thresholds })),
  floor: (detection, thresholds) => eraseState(floorDetector({ ...detection, thresholds })),
  rate: (detection, thresholds) => eraseState(rateDetector({ ...detection, thresholds })),
  distribution: (detection, thresholds) => eraseState(distributionDetector({ ...detection, thresholds })),
  cusum: (detection, thresholds) => eraseState(cusumDetector({ ...detection, thresholds })),
  threshold: (detection) => eraseState(thresholdDetector(detection)),
  no_data: (detection) => eraseState(noDataDetector(detection)),
  scorer_errors: (detection, thresholds) => eraseState(scorerErrorsDetector({ ...detection, thresholds })),
  coverage: (detection, thresholds) => eraseState(coverageDetector({ ...detection, thresholds })),
};

/** The detector of a rule, as sure as its thresholds ask. */
export function createDetector(detection: Detection, thresholds: Thresholds): AnyDetector {
  // The table has, under each kind, the maker for detections of that kind.
  const make = DETECTORS[detection.kind] as (detection: Detection, thresholds: Thresholds) => AnyDetector;
  return make(detection, thresholds);
}

/** Hides a detector's state type, so that states of many detectors can be stored together. */
function eraseState<State>(detector: Detector<State>): AnyDetector {
  return {
    start: () => detector.start(),
    step: (state, bucket) => detector.step(state as State, bucket),
    verdict: (state) => detector.verdict(state as State),
    gauges: (state) => detector.gauges(state as State),
  };
}

/** Detectors that learn what is normal, and can be told that something else is. */
const LEARNING: ReadonlySet<Detection['kind']> = new Set(['drift', 'distribution', 'cusum']);

/** Returns true when the detector has a reference that an acknowledgement starts anew. */
export function isPinnable({ kind }: Pick<Detection, 'kind'>): boolean {
  return LEARNING.has(kind);
}
