import type { TargetKind } from '../domain/trace/agent-run.ts';
import { BACKFILL_RULES } from '../domain/decision.ts';
import { hashValue } from '../domain/identity.ts';
import type { Fingerprints } from '../jobs/foreign-scorers.ts';
import type { PreparedRule, Where } from '../scoring/select/rule.ts';
import type { SamplePlan } from '../scoring/select/sample-trace.ts';

/** Traces and sessions of a backfill. Times are Unix milliseconds. */
export interface BackfillRange {
  /** Earliest start of a trace. */
  readonly fromMs: number;
  /** End of the range, exclusive. */
  readonly toMs: number;
  /** Absent: every tenant. */
  readonly tenant?: string | undefined;
  /** Conditions on the traces, and on the sessions, beside those of the rules. Absent: all. */
  readonly where?: Where | undefined;
}

/** Rule as it was when the backfill was made. */
export interface BackfillRule {
  readonly name: string;
  readonly target: TargetKind;
  readonly where: Where | null;
  readonly sample: SamplePlan;
  /** Fingerprints by scorer, in the order of the rule. */
  readonly scorers: Readonly<Record<string, string>>;
}

/** Limits of a backfill; null: no limit of its own. */
interface BackfillLimits {
  /** Traces a second. */
  readonly tracesPerSecond: number | null;
  /** Most money for judges, USD. */
  readonly maxCostUsd: number | null;
  /** Traces whose scorers run at the same time. */
  readonly concurrency: number | null;
  /** Part of the places of judges, above 0 and at most 1. */
  readonly judgeShare: number | null;
}

/** Specification of a backfill, as its job stores it. The job has the tenant; times are ISO 8601. */
export interface BackfillSpec extends BackfillLimits {
  readonly from: string;
  readonly to: string;
  readonly where: Where | null;
  readonly rules: readonly BackfillRule[];
  /** True: scorers run again on traces that they have scored. */
  readonly rescore: boolean;
}

/** Reads the specification of a stored job. */
export function readBackfillSpec(spec: Readonly<Record<string, unknown>>): BackfillSpec {
  return spec as unknown as BackfillSpec;
}

/** Returns the range of a backfill. The tenant '' stands for all tenants. */
export function readRange({ from, to, where }: BackfillSpec, tenant: string): BackfillRange {
  return {
    fromMs: Date.parse(from),
    toMs: Date.parse(to),
    ...(tenant === '' ? {} : { tenant }),
    ...(where === null ? {} : { where }),
  };
}

/** Describes prepared rules as a specification keeps them. */
export function describeRules(rules: readonly PreparedRule[]): BackfillRule[] {
  return rules.map(({ name, target, where, sample, scorers }) => ({
    name,
    target,
    where: where ?? null,
    sample,
    scorers: Object.fromEntries(scorers.map((scorer) => [scorer.name, scorer.fingerprint])),
  }));
}

/** Lists the fingerprints of a specification, by rule and scorer. */
export function listFingerprints({ rules }: BackfillSpec): Fingerprints {
  return Object.fromEntries(rules.map(({ name, scorers }) => [name, scorers]));
}

/**
 * Computes the id under which decisions are stored: a hash of the traces, the rules and the scorers. So a backfill that is made again
 * finds the decisions of the earlier one, whatever its limits are.
 */
export function computeBackfillId({ from, to, where, rules }: BackfillSpec, tenant: string): string {
  return hashValue({ from, to, tenant, where, rules }).slice(0, 16);
}

/**
 * Renames the rules of a backfill to `backfill:<id>`, or `backfill:<id>:<rule>` for several rules. They share the budgets of live
 * scoring.
 */
export function renameRules(id: string, rules: readonly PreparedRule[]): PreparedRule[] {
  return rules.map((rule) => ({
    ...rule,
    name: rules.length === 1 ? `${BACKFILL_RULES}${id}` : `${BACKFILL_RULES}${id}:${rule.name}`,
    paidBy: rule.name,
  }));
}
