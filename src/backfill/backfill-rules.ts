import { hashValue } from '../domain/identity.ts';
import { prepareRule, ruleDefinition, type PreparedRule, type Rule } from '../scoring/select/rule.ts';

/** Traces that a backfill covers. Times are Unix milliseconds. */
export interface BackfillRange {
  /** Earliest span start that counts. */
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  /** Absent: every tenant. */
  readonly tenant?: string | undefined;
}

/** The id of a backfill: a hash of what was asked, so that asking the same again goes on where it stopped. */
export function backfillId(range: BackfillRange, rules: readonly Rule[]): string {
  return hashValue({
    fromMs: range.fromMs,
    toMs: range.toMs,
    tenant: range.tenant ?? null,
    rules: rules.map((rule) => ({ name: rule.name, ...ruleDefinition(rule) })),
  }).slice(0, 16);
}

/** The rules under which a backfill's decisions are kept: `backfill:<id>`, with the rule's name where there are several. */
export function backfillRules(id: string, rules: readonly Rule[]): PreparedRule[] {
  return rules.map((rule) => {
    const name = rules.length === 1 ? `backfill:${id}` : `backfill:${id}:${rule.name}`;
    return prepareRule({ ...rule, name });
  });
}
