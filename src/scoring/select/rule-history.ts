import type { PriorityReason } from './sample-trace.ts';
import type { RuleSince, RuleVersion, RuleVersionStore } from '../../store/contracts/stores.ts';
import { buildRuleDefinition, computeRuleVersion, type PreparedRule, type Rule } from './rule.ts';

/** A rule as it was at the first arrival of a trace. */
export interface RuleInForce {
  readonly rate: number;
  readonly always: readonly PriorityReason[];
  /** Names of the scorers at that time. */
  readonly scorers: ReadonlySet<string>;
}

/** Versions of the rules over time. */
export interface RuleHistory {
  /** Returns null for a trace that arrived before the rule was first loaded: only a backfill scores it. */
  inForce(rule: PreparedRule, firstArrivalMs: number): RuleInForce | null;
  /** Returns the time at which each rule was first loaded. */
  since(rules: readonly Rule[]): RuleSince[];
}

/** Stores the current version of each rule and returns the history. A stored version keeps its first time. */
export async function recordRules(
  store: RuleVersionStore,
  rules: readonly Rule[],
  nowMs: number,
): Promise<RuleHistory> {
  for (const rule of rules) {
    await store.record({
      rule: rule.name,
      version: computeRuleVersion(rule),
      activeFromMs: nowMs,
      probability: rule.sample.rate,
      definition: buildRuleDefinition(rule),
    });
  }
  return buildRuleHistory(await store.list());
}

export function buildRuleHistory(versions: readonly RuleVersion[]): RuleHistory {
  const byRule = new Map<string, RuleVersion[]>();
  for (const version of [...versions].sort((a, b) => a.activeFromMs - b.activeFromMs)) {
    byRule.set(version.rule, [...(byRule.get(version.rule) ?? []), version]);
  }
  return {
    inForce(rule, firstArrivalMs) {
      const earlier = byRule.get(rule.name)?.filter((each) => each.activeFromMs <= firstArrivalMs) ?? [];
      // The current definition may be an earlier one again. Then its first time is before that of the version between.
      const current = earlier.find((each) => each.version === computeRuleVersion(rule));
      const version = current ?? earlier.at(-1);
      return version === undefined ? null : toRuleInForce(version, rule);
    },
    since: (rules) =>
      rules.flatMap((rule) => {
        const first = byRule.get(rule.name)?.[0];
        return first === undefined ? [] : [{ rule: rule.name, activeFromMs: first.activeFromMs }];
      }),
  };
}

/** Reads a stored definition. Takes parts that cannot be read from the current rule. */
function toRuleInForce(version: RuleVersion, rule: PreparedRule): RuleInForce {
  const known = (version.definition ?? {}) as {
    scorers?: unknown;
    sample?: { always?: unknown };
  };
  const names = Array.isArray(known.scorers) ? known.scorers : rule.scorers.map((bound) => bound.name);
  const always = known.sample?.always;
  return {
    rate: version.probability,
    always: Array.isArray(always) ? (always as PriorityReason[]) : rule.sample.always,
    scorers: new Set(names.filter((name): name is string => typeof name === 'string')),
  };
}
