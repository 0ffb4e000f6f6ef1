import type { SeriesFacets } from '../domain/alert.ts';
import type { Finding } from './detector.ts';
import type { Phase } from './series.ts';

/** Where a rule stands on a series, for people. Times are Unix milliseconds. */
export interface MonitorStatus {
  /** `ruleKeyOf`: another after every change of what the rule detects. */
  readonly ruleKey: string;
  readonly group: string;
  readonly alert: string;
  readonly detector: string;
  readonly series: SeriesFacets;
  readonly phase: Phase;
  /** Since when the phase holds; null before the first bucket. */
  readonly sinceMs: number | null;
  /** The incident that is on; null for none. */
  readonly incidentId: string | null;
  /** What the current or latest incident was raised with. */
  readonly finding: Finding | null;
  /** What the reference still lacks; null when it is complete, or none is needed. */
  readonly lacks: string | null;
  /** Mean of the latest bucket that held scores, directed. */
  readonly mean: number | null;
  readonly baseline: number | null;
  readonly evidenceLog10: number | null;
  /** Scores folded so far. */
  readonly scores: number;
  /** Start of the latest bucket folded. */
  readonly bucketMs: number;
}
