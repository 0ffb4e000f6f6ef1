import type { Decision, Stratum } from '../../domain/decision.ts';
import { showUsd } from '../../domain/money/usd.ts';
import type { TraceFacts } from '../../store/contracts/stores.ts';
import type { PreparedRule, PreparedScorer } from './rule.ts';
import type { VersionAsk } from './new-versions.ts';
import type { PriorityFacts, RunSize, SamplePlan } from './sample-trace.ts';

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
  readonly versionAsk: VersionAsk | null;
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
