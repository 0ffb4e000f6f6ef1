import { parseReasons, type PriorityReason } from './sample-trace.ts';
import type { CoveredCell, RuleVersion, RuleVersionStore } from '../../store/contracts/stores.ts';
import { buildRuleDefinition, computeRuleVersion, type PreparedRule, type Rule } from './rule.ts';

/** A rule as it was at the first arrival of a trace. */
export interface RuleInForce {
  readonly rate: number;
  readonly always: readonly PriorityReason[];
  /** Names of the scorers at that time. */
  readonly scorers: ReadonlySet<string>;
  /** Time since which this version of the rule is in force, Unix milliseconds. */
  readonly fromMs: number;
}

/** Versions of the rules over time. */
export interface RuleHistory {
  /** Returns null for a trace that arrived before the rule was first loaded: only a backfill scores it. */
  inForce(rule: PreparedRule, firstArrivalMs: number): RuleInForce | null;
  /** Returns the time from which all current versions of the rules are in force; -Infinity without rules. */
  activeFromMs(rules: readonly Rule[]): number;
  /** Lists the scorers of the rules and the first arrivals that each covers: those for which it is in force. */
  coverage(rules: readonly PreparedRule[]): CoveredCell[];
  /** Lists the same for the stored rules that are not among these. */
  formerCoverage(rules: readonly Rule[]): CoveredCell[];
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
      const period = listPeriods(byRule.get(rule.name) ?? [], rule).findLast(
        ({ fromMs }) => fromMs <= firstArrivalMs,
      );
      return period === undefined ? null : toRuleInForce(period.version, rule);
    },
    activeFromMs: (rules) =>
      rules.reduce((latest, rule) => {
        const [current] = listPeriods(byRule.get(rule.name) ?? [], rule).slice(-1);
        return Math.max(latest, current?.fromMs ?? -Infinity);
      }, -Infinity),
    coverage: (rules) =>
      rules.flatMap((rule) =>
        listPeriods(byRule.get(rule.name) ?? [], rule).flatMap(({ version, fromMs, untilMs }) => {
          const { scorers } = toRuleInForce(version, rule);
          const ours = rule.scorers.filter(({ name }) => scorers.has(name));
          const ofSessions = rule.target === 'session' ? { ofSessions: true } : {};
          return ours.map(({ name }) => ({ rule: rule.name, scorer: name, fromMs, untilMs, ...ofSessions }));
        }),
      ),
    formerCoverage: (rules) => {
      const present = new Set(rules.map(({ name }) => name));
      return [...byRule].flatMap(([rule, all]) =>
        present.has(rule)
          ? []
          : joinPeriods(all).flatMap(({ version, fromMs, untilMs }) =>
              (readScorerNames(version) ?? []).map((scorer) => ({ rule, scorer, fromMs, untilMs })),
            ),
      );
    },
  };
}

/** First arrivals for which a version is in force: [fromMs, untilMs). */
interface Period {
  readonly version: RuleVersion;
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * Lists the periods of a rule, earliest first. From its first time on, the current version counts, also when a definition was
 * restored and its first time is before that of the version between.
 */
function listPeriods(versions: readonly RuleVersion[], rule: Rule): Period[] {
  const hash = computeRuleVersion(rule);
  const current = versions.findIndex((each) => each.version === hash);
  return joinPeriods(current < 0 ? versions : versions.slice(0, current + 1));
}

/** Builds the periods of versions in the order of time: each is in force until the next one. */
function joinPeriods(versions: readonly RuleVersion[]): Period[] {
  return versions.map((version, index) => ({
    version,
    fromMs: version.activeFromMs,
    untilMs: versions[index + 1]?.activeFromMs ?? Infinity,
  }));
}

/** Reads a stored definition. Takes parts that cannot be read from the current rule. */
function toRuleInForce(version: RuleVersion, rule: PreparedRule): RuleInForce {
  const { sample } = readDefinition(version);
  return {
    rate: version.probability,
    always: parseReasons(sample?.always) ?? rule.sample.always,
    scorers: new Set(readScorerNames(version) ?? rule.scorers.map((bound) => bound.name)),
    fromMs: version.activeFromMs,
  };
}

function readDefinition({ definition }: RuleVersion) {
  return (definition ?? {}) as { scorers?: unknown; sample?: { always?: unknown } };
}

/** Returns undefined for a definition without a list of scorers. */
function readScorerNames(version: RuleVersion): string[] | undefined {
  const { scorers } = readDefinition(version);
  return Array.isArray(scorers)
    ? scorers.filter((name): name is string => typeof name === 'string')
    : undefined;
}
