import type { TargetKind } from '../../domain/agent-run.ts';
import { ConfigError } from '../../domain/errors.ts';
import { hashValue } from '../../domain/identity.ts';
import type { Scorer } from '../../evals/scorer.ts';
import type { SamplePlan } from './sample-trace.ts';
import { fingerprintOfScorer } from './fingerprint.ts';

/** A scorer under the name that a rule uses for it. */
export interface BoundScorer {
  readonly name: string;
  readonly scorer: Scorer;
  /** For a scorer that does not say. */
  readonly higherIsBetter?: boolean | undefined;
  /** For a scorer that does not say: least and greatest score. */
  readonly range?: readonly [number, number] | undefined;
  /** The longest that one run may take, milliseconds. Absent: the limit of all scorers. */
  readonly timeoutMs?: number | undefined;
  /** Set for a scorer in processes of its own: it queues its runs and times them itself. */
  readonly guest?: GuestQueue | undefined;
}

/** The runs that wait for a scorer in processes of its own. */
export interface GuestQueue {
  /** True when as many wait as may. */
  isFull(): boolean;
  waiting(): number;
}

/** Conditions on traces: every condition must match; within one, any value. */
export interface Where {
  readonly service?: readonly string[] | undefined;
  readonly environment?: readonly string[] | undefined;
  readonly agent?: readonly string[] | undefined;
  readonly attributes?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** Rule: the traces, and their scorers. */
export interface Rule {
  readonly name: string;
  readonly scorers: readonly BoundScorer[];
  readonly target: TargetKind;
  readonly where?: Where | undefined;
  readonly sample: SamplePlan;
  /** USD a UTC day that its judges may cost. */
  readonly budget?: { readonly perDay: number } | undefined;
}

/** A rule's scorer with what identifies its scores. */
export interface PreparedScorer extends BoundScorer {
  readonly fingerprint: string;
  /** `provider/model` as configured, '' for a scorer that asks no judge or does not say. */
  readonly judgeModel: string;
  /**
   * True when material may leave the process through the scorer. A scorer without `judgeModel` may ask a model in its own way,
   * so it gets redacted runs, waits for a place and counts against the budget.
   */
  readonly isJudged: boolean;
}

export interface PreparedRule extends Rule {
  readonly scorers: readonly PreparedScorer[];
}

const TARGETS_READ: readonly TargetKind[] = ['trace', 'agent'];

/** Works out fingerprints once. Throws `ConfigError` for a rule that cannot be run. */
export function prepareRule(rule: Rule): PreparedRule {
  if (!TARGETS_READ.includes(rule.target)) {
    throw new ConfigError(
      `rule ${rule.name}: target ${rule.target} cannot be scored in this version; write one of ${TARGETS_READ.join(', ')}`,
      { rule: rule.name, target: rule.target },
    );
  }
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

/** Definition of a rule in `rule_versions`: plain data, without the scorers' code. */
export interface RuleDefinition {
  readonly scorers: readonly string[];
  readonly target: TargetKind;
  readonly where: Where;
  readonly sample: SamplePlan;
  readonly budgetPerDay: number | null;
}

export function ruleDefinition(rule: Rule): RuleDefinition {
  return {
    scorers: rule.scorers.map((bound) => bound.name),
    target: rule.target,
    where: rule.where ?? {},
    sample: { rate: rule.sample.rate, always: [...rule.sample.always] },
    budgetPerDay: rule.budget?.perDay ?? null,
  };
}

/** Hash of a definition: equal definitions are one version, whenever they are loaded. */
export function computeRuleVersion(rule: Rule): string {
  return hashValue(ruleDefinition(rule));
}
