import { hashValue } from '../domain/identity.ts';
import { prepareRule, buildRuleDefinition, type PreparedRule, type Rule } from '../scoring/select/rule.ts';

/** Traces of a backfill. Times are Unix milliseconds. */
export interface BackfillRange {
  /** Earliest start of a trace. */
  readonly fromMs: number;
  /** End of the range, exclusive. */
  readonly toMs: number;
  /** Absent: every tenant. */
  readonly tenant?: string | undefined;
}

/** Computes the id of a backfill from its range and rules, so that the same command continues the same backfill. */
export function computeBackfillId(range: BackfillRange, rules: readonly Rule[]): string {
  return hashValue({
    fromMs: range.fromMs,
    toMs: range.toMs,
    tenant: range.tenant ?? null,
    rules: rules.map((rule) => ({ name: rule.name, ...buildRuleDefinition(rule) })),
  }).slice(0, 16);
}

/**
 * Prepares the rules of a backfill. Their names are `backfill:<id>`, or `backfill:<id>:<rule>` for several rules. They share the budgets
 * of live scoring.
 */
export function prepareBackfillRules(id: string, rules: readonly Rule[]): PreparedRule[] {
  return rules.map((rule) => {
    const name = rules.length === 1 ? `backfill:${id}` : `backfill:${id}:${rule.name}`;
    return prepareRule({ ...rule, name, paidBy: rule.name });
  });
}
