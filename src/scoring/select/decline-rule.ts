import type { Decision } from '../../domain/decision.ts';
import type { TraceActivity } from '../../store/contracts/stores.ts';
import { buildVerdictRows, type Unscored } from '../record/decision-rows.ts';
import type { PreparedRule } from './rule.ts';
import type { RuleSelection, Selection } from './selection.ts';

/** Sampling of a trace that a rule does not look at. */
export const NOT_SELECTED: Selection = { stratum: 'none', inclusionProbability: 0, weight: null };

/** Verdict of a rule that does not score a trace. */
export interface Declined {
  readonly rule: PreparedRule;
  /** Current decisions of the rule on the trace. */
  readonly prior: readonly Decision[];
  readonly verdict: Unscored;
  readonly selection: Selection;
}

/** Trace or session that a rule declines. */
interface DeclinedTrace {
  readonly activity: TraceActivity;
  readonly targetId: string;
  readonly nowMs: number;
  /** True: a run of the trace was read by the form of its values. Absent before the content is read. */
  readonly readByShape?: boolean;
}

/** Builds the rows of a rule that does not score a trace. */
export function declineRule(
  { activity, ...trace }: DeclinedTrace,
  { rule, prior, verdict, selection }: Declined,
): RuleSelection {
  const rows = buildVerdictRows(verdict, {
    key: activity,
    ...trace,
    rule,
    prior,
    selection,
    evidenceUntilMs: activity.lastArrivalMs,
    evidenceHash: '',
  });
  return { outcome: 'declined', rule, rows };
}
