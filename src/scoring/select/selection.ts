import type { Decision, Stratum } from '../../domain/decision.ts';
import type { PreparedRule, PreparedScorer } from './rule.ts';

/** Sampling of a trace: its stratum, the probability of being scored and the weight of its scores. */
export interface Selection {
  readonly stratum: Stratum;
  readonly inclusionProbability: number;
  readonly weight: number | null;
}

/** A rule that scores a trace. */
export interface SelectedRule {
  readonly rule: PreparedRule;
  /** Scorers of the rule when the trace arrived. */
  readonly scorers: readonly PreparedScorer[];
  readonly selection: Selection;
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
