import type { PriorityReason } from './sample-trace.ts';
import type { RuleSince, RuleVersion, RuleVersionStore } from '../../store/contracts/stores.ts';
import { ruleDefinition, computeRuleVersion, type PreparedRule, type Rule } from './rule.ts';

/** A rule as it was in force when a trace first arrived. */
export interface RuleInForce {
  readonly rate: number;
  readonly always: readonly PriorityReason[];
  /** Names of the scorers that it had then. */
  readonly scorers: ReadonlySet<string>;
}

/** Time ranges that rules cover. */
export interface RuleHistory {
  /** Null for a trace that arrived before the rule was first loaded: only a backfill scores it. */
  inForce(rule: PreparedRule, firstArrivalMs: number): RuleInForce | null;
  /** Time at which each rule was first loaded. */
  since(rules: readonly Rule[]): RuleSince[];
}

/** Records the rules as they are now (a version that is known keeps its first moment) and gives their history. */
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
      definition: ruleDefinition(rule),
    });
  }
  return ruleHistory(await store.list());
}

export function ruleHistory(versions: readonly RuleVersion[]): RuleHistory {
  const byRule = new Map<string, RuleVersion[]>();
  for (const version of [...versions].sort((a, b) => a.activeFromMs - b.activeFromMs)) {
    byRule.set(version.rule, [...(byRule.get(version.rule) ?? []), version]);
  }
  return {
    inForce(rule, firstArrivalMs) {
      const earlier = byRule.get(rule.name)?.filter((each) => each.activeFromMs <= firstArrivalMs) ?? [];
      // A definition that was gone back to keeps its first moment, which is before that of the one it replaces.
      const now = earlier.find((each) => each.version === computeRuleVersion(rule));
      const version = now ?? earlier.at(-1);
      return version === undefined ? null : asInForce(version, rule);
    },
    since: (rules) =>
      rules.flatMap((rule) => {
        const first = byRule.get(rule.name)?.[0];
        return first === undefined ? [] : [{ rule: rule.name, activeFromMs: first.activeFromMs }];
      }),
  };
}

/** A definition comes from the store: what cannot be read of it is taken from the rule as it is now. */
function asInForce(version: RuleVersion, rule: PreparedRule): RuleInForce {
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
