import type { AggregateFacet } from '../../../domain/aggregate-facets.ts';
import type { Agreement, Confusion } from '../../../domain/agreement/kappa.ts';
import type { DeployMarker } from '../../../domain/deploy-marker.ts';
import type {
  AggregateFilter,
  ScoreHistogram,
  ScoreScale,
  SummaryRow,
  SumsRow,
} from '../../../store/contracts/aggregates/aggregate-reads.ts';

/** Choice of scores of a request. Times are Unix milliseconds: [fromMs, toMs), whole hours. */
export type ScoresRequest = Omit<AggregateFilter, 'tenant' | 'scorers'>;

export interface SeriesRequest extends ScoresRequest {
  readonly scorer: string;
  readonly bucketMs: number;
  readonly by: readonly AggregateFacet[];
  readonly passAt?: number | undefined;
}

/** Usual scores of the time before. */
export interface ScoreBaseline {
  readonly mean: number;
  readonly p10: number | null;
  readonly p90: number | null;
  readonly n: number;
  readonly from: 'monitor' | 'history';
}

/** Incident of a monitor on scores. Times are Unix milliseconds. */
export interface ScoreIncident {
  readonly incidentId: string;
  readonly alert: string;
  readonly scorer: string;
  readonly agent: string;
  readonly environment: string;
  readonly startsAtMs: number;
  readonly endsAtMs: number | null;
  /** True when its messages are muted now. */
  readonly isMuted: boolean;
}

/** Open alert about a budget. */
export interface BudgetAlert {
  readonly incidentId: string;
  /** Sentence on the budget and the money spent. */
  readonly summary: string;
  readonly startsAtMs: number;
  readonly isMuted: boolean;
}

export interface OverviewReadings {
  readonly scorers: readonly OverviewReading[];
  /** Open incidents of scores and of budgets, newest first. */
  readonly incidents: readonly ScoreIncident[];
  readonly budgets: readonly BudgetAlert[];
  /** Age of the oldest score that the sums lack, seconds. */
  readonly behindSeconds: number;
}

export interface SeriesGroup extends SummaryRow {
  readonly baseline: ScoreBaseline | null;
}

export interface SeriesReading {
  readonly points: readonly SummaryRow[];
  readonly groups: readonly SeriesGroup[];
  readonly truncatedGroups: number;
  readonly baseline: ScoreBaseline | null;
  readonly markers: readonly DeployMarker[];
  readonly incidents: readonly ScoreIncident[];
  /** Age of the oldest score that the sums lack, seconds. */
  readonly behindSeconds: number;
}

export interface DistributionReading {
  readonly current: ScoreHistogram | null;
  readonly reference: ScoreHistogram | null;
}

/** Scorer of the overview. */
export interface OverviewReading extends ScoreScale {
  readonly scorer: string;
  readonly points: readonly SumsRow[];
  readonly total: SumsRow;
  /** Targets with their last span in the time, and those of them with a score. Null where they are not counted: in a range of days. */
  readonly eligible: number | null;
  readonly scored: number | null;
  readonly baseline: ScoreBaseline | null;
  readonly incident: ScoreIncident | null;
}

/** Side of a comparison. */
export interface ComparedSide {
  readonly scorer: string;
  /** Absent: the newest score of each target counts. */
  readonly fingerprint?: string;
  readonly isHuman: boolean;
}

export interface CompareReading extends Agreement {
  /** Start of the compared scores, Unix milliseconds. */
  readonly fromMs: number;
  readonly confusion: Confusion;
  readonly spearman: number | null;
  /** Ids of traces, the largest difference first. */
  readonly disagreements: readonly string[];
}

/** Numbers of scores, of one tenant or of all. */
export interface AggregatePorts {
  /** Throws a `NotFoundError` for an unknown scorer. */
  series(request: SeriesRequest): Promise<SeriesReading>;
  /** Throws a `NotFoundError` for an unknown scorer. */
  distribution(
    request: ScoresRequest & {
      readonly scorer: string;
      readonly reference: { fromMs: number; toMs: number };
    },
  ): Promise<DistributionReading>;
  /** Scorers by name, and what is open. */
  overview(request: ScoresRequest & { readonly bucketMs: number }): Promise<OverviewReadings>;
  /** Throws a `NotFoundError` for an unknown scorer. */
  compare(
    request: Omit<ScoresRequest, 'source'> & { readonly left: ComparedSide; readonly right: ComparedSide },
  ): Promise<CompareReading>;
}
