import type { TargetKind } from '../../domain/trace/agent-run.ts';
import type { BudgetCaps } from '../../domain/money/budget.ts';
import { ConfigError } from '../../domain/errors.ts';
import { hashValue, computeFingerprint } from '../../domain/identity.ts';
import type { RunSlots } from '../live/queue.ts';
import { parseReasons, type SamplePlan, type PriorityReason } from './sample-trace.ts';
import { canonicalOptions } from '../../scorers/evals/create-scorer.ts';
import type { CoveredPair, RuleVersion } from '../../store/contracts/stores.ts';
import type { RuleVersionStore } from '../../store/tables/versions.ts';
import type { Scorer } from '../../scorers/evals/scorer.ts';

/** A scorer under the name that a rule uses for it. */
export interface BoundScorer {
  readonly name: string;
  readonly scorer: Scorer;
  /** Used when the scorer itself has no `higherIsBetter`. */
  readonly higherIsBetter?: boolean | undefined;
  /** Lowest and highest score, used when the scorer itself has no range. */
  readonly range?: readonly [number, number] | undefined;
  /** Time limit of one run, milliseconds. Absent: the limit of all scorers. */
  readonly timeoutMs?: number | undefined;
  /** True: it gets what the run took, and the past of its agent. */
  readonly readsPast?: boolean | undefined;
  /** True: it asks its judge one question about a run. */
  readonly asksOnce?: boolean | undefined;
  /** Traces whose runs are examples for its judge. */
  readonly exampleTraces?: readonly string[] | undefined;
  /** Runs in child processes. Set for such a scorer: it has places and a timer of its own. */
  readonly own?: RunSlots | undefined;
}

/** Limits of a number, both inclusive; an absent one does not limit. */
export interface Limits {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** Conditions on a trace. A condition with a list is met when one of its values is there. */
export interface Conditions {
  readonly service?: readonly string[] | undefined;
  readonly environment?: readonly string[] | undefined;
  readonly agent?: readonly string[] | undefined;
  readonly model?: readonly string[] | undefined;
  readonly attributes?: Readonly<Record<string, readonly string[]>> | undefined;
  /** `error`: a span of the trace has failed. */
  readonly status?: 'ok' | 'error' | undefined;
  /** From the first start to the last end of the trace, milliseconds. */
  readonly durationMs?: Limits | undefined;
  /** Tokens of a run of the trace. */
  readonly tokens?: Limits | undefined;
  /** True: a run of the trace was read by the form of its values. False: none was. */
  readonly readByShape?: boolean | undefined;
}

/** Traces of a rule: those that meet all conditions, and none of `not`. */
export interface Where extends Conditions {
  readonly not?: Conditions | undefined;
}

/** Scorers, and the traces that they score. */
export interface Rule {
  readonly name: string;
  readonly scorers: readonly BoundScorer[];
  readonly target: TargetKind;
  readonly where?: Where | undefined;
  readonly sample: SamplePlan;
  /** Most money that the judges of the rule may cost. */
  readonly budget?: BudgetCaps | undefined;
  /** Rule whose budget pays. Absent: this rule. */
  readonly paidBy?: string | undefined;
}

/** Scorer of a rule, with its fingerprint. */
export interface PreparedScorer extends BoundScorer {
  readonly fingerprint: string;
  /** `provider/model` of the configuration; '' for a scorer that asks no judge, or does not declare one. */
  readonly judgeModel: string;
  /**
   * True when the scorer may send content out of this process. A scorer that does not declare its judge may call a model by
   * itself. So it gets redacted runs, waits in the queue of the judges and counts against the budget.
   */
  readonly isJudged: boolean;
}

export interface PreparedRule extends Rule {
  readonly scorers: readonly PreparedScorer[];
}

/** Computes the fingerprints of a rule. Throws `ConfigError` for a rule that cannot be run. */
export function prepareRule(rule: Rule): PreparedRule {
  const names = new Set<string>();
  for (const { name } of rule.scorers) {
    if (names.has(name)) {
      throw new ConfigError(`rule ${rule.name}: scorer ${name} is listed twice; write it once`, {
        rule: rule.name,
      });
    }
    names.add(name);
  }
  return {
    ...rule,
    scorers: rule.scorers.map((bound) => ({
      ...bound,
      judgeModel: bound.scorer.judgeModel ?? '',
      isJudged: bound.scorer.judgeModel !== '',
      fingerprint: fingerprintOfScorer(bound.scorer),
    })),
  };
}

/** Builds the definition of a rule for `rule_versions`: plain data, without the code of the scorers. */
function buildRuleDefinition({ scorers, target, where = {}, sample, budget }: Rule) {
  return {
    scorers: scorers.map(({ name }) => name),
    target,
    where,
    sample: { rate: sample.rate, always: [...sample.always] },
    budgetPerDay: budget?.perDay ?? null,
    ...(budget?.perMonth === undefined ? {} : { budgetPerMonth: budget.perMonth }),
  };
}

/** Computes the version of a rule, a hash of its definition: equal definitions are one version, whenever they are loaded. */
export function computeRuleVersion(rule: Rule): string {
  return hashValue(buildRuleDefinition(rule));
}

/** Computes the fingerprint of a scorer. It depends on the id alone when the scorer declares nothing else. */
function fingerprintOfScorer(scorer: Scorer): string {
  return computeFingerprint({
    scorer: scorer.id,
    scorerVersion: scorer.version ?? '',
    options: canonicalOptions(scorer.options ?? null),
    promptVersion: scorer.promptVersion ?? '',
    judgeModel: scorer.judgeModel ?? '',
    decoding: null,
  });
}

/** A rule as it was at the first arrival of a trace. */
export interface RuleInForce {
  readonly rate: number;
  readonly always: readonly PriorityReason[];
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
  coverage(rules: readonly PreparedRule[]): CoveredPair[];
  /** Lists the same for the stored rules that are not among these. */
  formerCoverage(rules: readonly Rule[]): CoveredPair[];
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

/** Rules that were in force until a time, with their history. */
export interface FormerRules {
  readonly rules: readonly PreparedRule[];
  readonly history: RuleHistory;
  readonly untilMs: number;
}

/**
 * Continues a history in a process that has changed its rules: what arrived before keeps the former rules, also when a definition is
 * restored later.
 */
export function continueHistory(former: FormerRules, present: RuleHistory): RuleHistory {
  const { untilMs: atMs } = former;
  return {
    ...present,
    inForce(rule, firstArrivalMs) {
      if (firstArrivalMs >= atMs) {
        return present.inForce(rule, firstArrivalMs);
      }
      const before = former.rules.find(({ name }) => name === rule.name);
      return before === undefined ? null : former.history.inForce(before, firstArrivalMs);
    },
    coverage(rules) {
      const known = new Set(rules.flatMap((rule) => rule.scorers.map(({ name }) => `${rule.name} ${name}`)));
      const before = former.history
        .coverage(former.rules)
        .filter(({ rule, scorer }) => known.has(`${rule} ${scorer}`));
      return joinPeriodsOfPairs([
        ...cutPeriods(before, { fromMs: -Infinity, untilMs: atMs }),
        ...cutPeriods(present.coverage(rules), { fromMs: atMs, untilMs: Infinity }),
      ]);
    },
  };
}

/** Cuts the periods of pairs to [fromMs, untilMs). */
export function cutPeriods(
  pairs: readonly CoveredPair[],
  { fromMs, untilMs }: Pick<CoveredPair, 'fromMs' | 'untilMs'>,
): CoveredPair[] {
  return pairs
    .map((pair) => ({
      ...pair,
      fromMs: Math.max(pair.fromMs, fromMs),
      untilMs: Math.min(pair.untilMs, untilMs),
    }))
    .filter((pair) => pair.fromMs < pair.untilMs);
}

/** Joins the periods of a pair that follow each other. */
export function joinPeriodsOfPairs(pairs: readonly CoveredPair[]): CoveredPair[] {
  const joined: CoveredPair[] = [];
  for (const pair of pairs) {
    const index = joined.findIndex(
      ({ rule, scorer, untilMs }) => rule === pair.rule && scorer === pair.scorer && untilMs === pair.fromMs,
    );
    const earlier = joined[index];
    if (earlier === undefined) {
      joined.push(pair);
    } else {
      joined[index] = { ...pair, fromMs: earlier.fromMs };
    }
  }
  return joined;
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
