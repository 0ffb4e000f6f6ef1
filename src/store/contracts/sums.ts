import type { AggregateFacet } from '../../domain/aggregate-facets.ts';
import type { AnswerPair } from '../../domain/agreement/agreement.ts';
import type { VersionFacts } from '../../domain/agreement/label-agreement.ts';
import type { EstimateGroup, WeightedRows } from '../../domain/agreement/pass-rate.ts';
import type { DecisionStatus } from '../../domain/decision.ts';
import type { ScoreSource } from '../../domain/score.ts';
import type { TargetKind } from '../../domain/trace/agent-run.ts';
import type { CoveredPair } from './stores.ts';

/** Hour of the scores of a tenant. */
export interface TouchedHour {
  readonly tenant: string;
  /** Start of the hour, Unix milliseconds. */
  readonly hourMs: number;
  /** Rows of the hour that were written, about. */
  readonly rows: number;
}

/** Computes the aggregates of scores. Every write can be repeated. Times are Unix milliseconds by the store's clock. */
export interface AggregateStore {
  nowMs(): Promise<number>;
  /** Returns the time up to which all written scores are in the aggregates; null before the first pass. */
  doneUntil(): Promise<number | null>;
  markDone(untilMs: number): Promise<void>;
  /** Lists the hours whose scores were written, moved or deleted since a time, in the order of time. */
  touchedSince(sinceMs: number): Promise<TouchedHour[]>;
  /** Lists every hour that has scores or aggregates. */
  allHours(): Promise<TouchedHour[]>;
  /** Computes hours, and their days, from the current scores, and replaces what was there. */
  compute(hours: readonly TouchedHour[]): Promise<void>;
}

/** Choice of scores: any of the values of each facet. Times are Unix milliseconds: [fromMs, toMs), whole hours. */
export interface AggregateFilter extends Readonly<
  Partial<Record<AggregateFacet, readonly string[] | undefined>>
> {
  /** Absent: all tenants. */
  readonly tenant?: string | undefined;
  /** Names of score rows; absent: all. */
  readonly scorers?: readonly string[] | undefined;
  readonly source: ScoreSource;
  readonly fromMs: number;
  readonly toMs: number;
  /** Hours that are computed from the scores for this read: their aggregates lack some. Absent: none. */
  readonly lacking?: readonly TouchedHour[] | undefined;
}

export interface SummaryQuery extends AggregateFilter {
  /** False: quantiles are null. They are most of the work. */
  readonly quantiles?: false | undefined;
  /** False: pass rates are null. */
  readonly passRates?: false | undefined;
  /** Length of a bucket, whole hours; absent: the whole range alone. */
  readonly bucketMs?: number | undefined;
  /** True: rows of the whole range come beside the buckets. */
  readonly withTotals?: true | undefined;
  /** Facets that the scores are split by. */
  readonly by: readonly AggregateFacet[];
  /** Only these groups: the scorer, then the values of `by`. Absent: all. */
  readonly groups?: readonly (readonly string[])[] | undefined;
  /** Score from which a score passes. Absent: the pass line of its scorer. */
  readonly passAt?: number | undefined;
  /** Directed scores from which scores pass, by the names of rows. An absent name has the better half of the range. */
  readonly passLines?: ReadonlyMap<string, number> | undefined;
}

/** Choice of a range, of the time before it, and of buckets in both: `fromMs` to `toMs` holds them all. */
export interface ProfileQuery extends Pick<SummaryQuery, keyof AggregateFilter | 'by' | 'passLines'> {
  readonly bucketMs: number;
  readonly range: TimeRange;
  readonly buckets: TimeRange;
}

/** Unix milliseconds, whole hours: [fromMs, toMs). */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Numbers of the scores of a range, of the time before it, and of buckets. Those of buckets have no mean and no quantiles. */
export interface Profile {
  readonly now: readonly SummaryRow[];
  readonly before: readonly SummaryRow[];
  /** A group has up to one row of a bucket in the range, one before it and one after it. */
  readonly points: readonly SummaryRow[];
}

/** Range and direction of a scorer. */
export interface ScoreScale {
  readonly scoreMin: number | null;
  readonly scoreMax: number | null;
  readonly higherIsBetter: boolean | null;
}

/** Sums of a group of scores. Each score counts with its weight. */
export interface ScoreSums {
  readonly n: number;
  /** Scores without a weight: they count as 1 each where no score has a weight, else not at all. */
  readonly unweighted: number;
  readonly weight: number;
  readonly effectiveN: number;
  readonly mean: number | null;
}

/** Numbers of a group of scores. Each score counts with its weight. */
export interface ScoreSummary extends ScoreSums {
  readonly p10: number | null;
  readonly p50: number | null;
  readonly p90: number | null;
  /** Null without a direction, or without both a range and `passAt`. */
  readonly passRate: number | null;
  /** Scores by label, where the label is the result; null for scores with a mean. */
  readonly labels: Readonly<Record<string, number>> | null;
}

/** Scores of one scorer in one bucket and group. */
export interface ScoreGroup extends ScoreScale {
  /** Start of the bucket, Unix milliseconds; null for the whole range. */
  readonly bucketMs: number | null;
  readonly scorer: string;
  /** Values of the facets, in the order of `by`. */
  readonly values: readonly string[];
}

export interface SumsRow extends ScoreSums, ScoreGroup {}
export interface SummaryRow extends ScoreSummary, ScoreGroup {}

/** Histogram of the scores of one scorer in a range of time. */
export interface ScoreHistogram extends ScoreScale {
  readonly n: number;
  readonly weight: number;
  readonly mean: number | null;
  /** Values in ascending order, with the scores and the weight of each. */
  readonly values: readonly number[];
  readonly counts: readonly number[];
  readonly weights: readonly number[];
}

/** Scores of one side of a comparison. */
export interface ComparedScores {
  readonly scorer: string;
  readonly fingerprint?: string | undefined;
  /** True: scores of people. Their mean and their majority count for a target (a tie passes); of other scores, the newest does. */
  readonly isHuman: boolean;
  /** Directed score from which a score passes. */
  readonly passLine: number;
  /** Direction of scores that have none. */
  readonly higherIsBetter: boolean;
}

/** Scores of one target on both sides, directed: 0 worst, 1 best. */
export interface ScorePair extends AnswerPair {
  readonly traceId: string;
  readonly left: number;
  readonly right: number;
}

/** Choice of decisions by what their runs are of. */
export interface RunChoice {
  /** Absent: every tenant. */
  readonly tenant?: string | undefined;
  readonly service?: readonly string[] | undefined;
  readonly agent?: readonly string[] | undefined;
  readonly environment?: readonly string[] | undefined;
}

/** Returns true for a choice that only the run of a decision answers: what waits for a decision has none yet. */
export function asksRuns({ service, agent, environment }: RunChoice): boolean {
  return [service, agent, environment].some((asked) => asked !== undefined);
}

/** Times are Unix milliseconds, by the store's clock. */
export interface CoverageQuery extends RunChoice {
  /** Only targets whose last span arrived at or after this time. */
  readonly sinceMs: number;
  /** Only targets whose last span arrived before this time; absent: until now. */
  readonly untilMs?: number | undefined;
  /** Scorers of each rule over time: a verdict on a whole rule counts for each of them. */
  readonly pairs: readonly CoveredPair[];
  /** True: one row for each service, which takes longer. */
  readonly byService?: boolean | undefined;
}

/** Number of current decisions of one kind. A decision on a whole rule counts once for each scorer of the rule. */
export interface CoverageRow {
  readonly rule: string;
  readonly scorer: string;
  /** Service of the run; '' when it is not known, or was not asked for. */
  readonly service: string;
  readonly status: DecisionStatus;
  /** Code of the reason; '' for a plain score. */
  readonly reason: string;
  readonly decisions: number;
  /** Sum of the weights. */
  readonly weight: number;
  /** Number of decisions without a weight. */
  readonly unweighted: number;
}

/** Numbers of decisions in a range. */
export interface CoverageReading {
  /** Start of the range: the hour of the asked time, where past hours are summed. */
  readonly sinceMs: number;
  readonly rows: CoverageRow[];
}

/** Traces or sessions that a scorer of a rule has yet to decide for the first time. */
export interface WaitingCount {
  readonly rule: string;
  readonly scorer: string;
  readonly waiting: number;
}

/** Times are Unix milliseconds, by the store's clock. */
export interface WaitingQuery {
  /** Only traces whose first span arrived at or after this time, and sessions whose last turn was read since. */
  readonly sinceMs: number;
  readonly nowMs: number;
  readonly tenant?: string | undefined;
  /** Scorers of the rules in force. */
  readonly pairs: readonly CoveredPair[];
}

/** Choice of runs by their start: any of the values. An agent without a name goes by its service. Times are Unix milliseconds: [fromMs, toMs). */
export interface RunSumsQuery {
  readonly fromMs: number;
  readonly toMs: number;
  /** Absent: all tenants. */
  readonly tenant?: string | undefined;
  readonly agent?: readonly string[] | undefined;
  readonly environment?: readonly string[] | undefined;
}

/** Times are Unix milliseconds, by the store's clock. */
export interface FunnelQuery extends RunSumsQuery {
  readonly nowMs: number;
  /** Scorers of each rule over time: a verdict on a whole rule counts for each of them. */
  readonly pairs: readonly CoveredPair[];
  /** Scorers of the rules in force here; none where no rule runs: then nothing waits. */
  readonly live: readonly CoveredPair[];
}

/** Current decisions of one status and a reason, a scorer, an agent or a step of time, or of all together. */
export interface FunnelRow {
  /** Null for all scorers. */
  readonly scorer: string | null;
  readonly status: DecisionStatus | null;
  /** Code of the reason; '' for none. */
  readonly reason: string;
  /** Null for all agents. */
  readonly agent: string | null;
  /** Start of the step, Unix milliseconds; null for all steps. */
  readonly startMs: number | null;
  readonly count: number;
  /** Distinct traces, by status and reason and of all together. */
  readonly runs: number;
  /** Rules that decided. */
  readonly rules: readonly string[];
}

/** Decisions on the runs that began in a range: the asked one, or its whole hours where they are summed. */
export interface FunnelReading {
  readonly fromMs: number;
  readonly toMs: number;
  /** Length of a step of time, milliseconds. */
  readonly stepMs: number;
  readonly rows: readonly FunnelRow[];
  /** Pairs of a trace and a scorer without a decision, their traces, and the number of those without any decision. */
  readonly waiting: {
    readonly count: number;
    readonly undecided: number;
    readonly traceIds: readonly string[];
  };
}

/** Facets by which costs are split. */
export const COST_KEYS = ['agent', 'agentVersion', 'model', 'rule', 'scorer'] as const;
export type CostKey = (typeof COST_KEYS)[number];

/** Costs of a key in a bucket. */
export interface CostRow {
  readonly key: string;
  /** Start of the bucket, Unix milliseconds. */
  readonly bucketMs: number;
  /** Null without a known cost. */
  readonly usd: number | null;
  readonly runs: number;
  /** Runs without a known cost. */
  readonly unpriced: number;
}

/** Choice of the targets of a reviewer. */
export interface LabelQuery {
  /** Absent: all tenants. */
  readonly tenant?: string | undefined;
  /** Name of the score rows. */
  readonly scorer: string;
  /** Fingerprint of the reviewer's scores. */
  readonly fingerprint: string;
  /** Oldest start, Unix milliseconds. */
  readonly sinceMs: number;
  readonly chosen?: ChosenFacets | undefined;
}

/** Scores with any of the values of each facet. */
export type ChosenFacets = Readonly<Partial<Record<AggregateFacet, readonly string[] | undefined>>>;

/** Target that a scorer has scored, with the place of its newest score. */
export interface LabelTarget {
  readonly tenant: string;
  readonly target: TargetKind;
  readonly targetId: string;
  readonly traceId: string;
  /** '' for a session, and for a whole run. */
  readonly spanId: string;
  readonly sessionId: string;
  readonly agent: string;
  readonly service: string;
  readonly environment: string;
  /** Start of the run, Unix milliseconds. */
  readonly startMs: number;
  readonly scoreMin: number | null;
  readonly scoreMax: number | null;
  readonly higherIsBetter: boolean | null;
  /** True when its newest score passes. */
  readonly passes: boolean;
  /** Random number from 0 to 1: the same for the same seed and target. */
  readonly draw: number;
}

/** Scorer of a range of time. Times are Unix milliseconds. */
export interface LabelledScorer {
  /** Absent: all tenants. */
  readonly tenant?: string | undefined;
  /** Name of the score rows. */
  readonly scorer: string;
  /** Oldest start. */
  readonly sinceMs: number;
  /** End of the range; absent: the present. */
  readonly untilMs?: number | undefined;
}

/** Facet or time by which the scores of people and of a scorer are split. */
export type JudgedGroup = EstimateGroup | AggregateFacet;

/** Choice of scores by verdict. */
export interface JudgedQuery extends LabelledScorer {
  /** Directed score from which scores pass. */
  readonly passLine: number;
  readonly by?: readonly JudgedGroup[] | undefined;
  readonly chosen?: ChosenFacets | undefined;
}

/** Rows of one version, group and verdict of the scorer. */
export interface JudgedRows extends WeightedRows {
  readonly fingerprint: string;
  /** Values of the groups, joined by NUL; '' for all. */
  readonly group: string;
  readonly passes: boolean;
  /** Verdict of people; null for all scores, with and without a label. */
  readonly people: boolean | null;
}

/** Version of a scorer of which some targets have labels. */
export type LabelledVersion = Omit<VersionFacts, 'scores'> & { readonly scorer: string };

/** Reviewer with labels in a range. */
export interface Reviewer {
  readonly reviewer: string;
  readonly fingerprint: string;
  readonly labels: number;
}
