import { z } from 'zod';
import { BACKFILL_RULES, WHOLE_RULE, type Decision } from '../domain/decision.ts';
import { hashValue } from '../domain/identity.ts';
import type { TargetKind } from '../domain/trace/agent-run.ts';
import { isRecord } from '../domain/unknown-values.ts';
import { readReasonCode } from '../scoring/attempt/attempt-failure.ts';
import type { PreparedRule, Where } from '../scoring/select/rule.ts';
import type { SamplePlan } from '../scoring/select/sample-trace.ts';
import type { JobRange } from './selection.ts';

export const BACKFILL = 'backfill';
export const RESCORE = 'rescore';

/** Place of a job in its pages. It names no trace and no session, so that a purge has nothing to find in it. */
export const JobPlace = z.object({
  /** Start of the job by the store's clock, Unix milliseconds: later results are results of it, or newer. */
  begunMs: z.number(),
  phase: z.enum(['traces', 'sessions', 'done']),
  /** Place after the last page of the phase that is done: a time or a keyed hash, as text; null: before the first. */
  after: z.string().nullable(),
});

/** Fingerprint of each scorer, by rule and scorer, as they were when a job was made. */
type Fingerprints = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Finds why rules cannot do the work of a job: they have other fingerprints. Undefined when they can. */
export function findForeignScorer(
  fingerprints: Fingerprints,
  rules: readonly PreparedRule[],
): string | undefined {
  for (const [rule, scorers] of Object.entries(fingerprints)) {
    for (const [scorer, fingerprint] of Object.entries(scorers)) {
      const bound = rules.find(({ name }) => name === rule)?.scorers.find(({ name }) => name === scorer);
      if (bound === undefined) {
        return `its configuration has no scorer ${scorer} in the rule ${rule}`;
      }
      if (bound.fingerprint !== fingerprint) {
        return `its configuration of the scorer ${scorer} (rule ${rule}) is another one than that of the job`;
      }
    }
  }
  return undefined;
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

/** Specification of a backfill, as its job stores it. The job has the tenant; times are ISO 8601. A limit of null does not limit. */
export interface BackfillSpec {
  readonly from: string;
  readonly to: string;
  readonly where: Where | null;
  readonly rules: readonly BackfillRule[];
  /** True: scorers run again on traces that they have scored. */
  readonly rescore: boolean;
  /** Traces a second. */
  readonly tracesPerSecond: number | null;
  /** Most money for judges, USD. */
  readonly maxCostUsd: number | null;
  /** Traces whose scorers run at the same time. */
  readonly concurrency: number | null;
  /** Part of the places of judges, above 0 and at most 1. */
  readonly judgeShare: number | null;
  /** True: the questions go to the judge in batches. Absent: each by itself. */
  readonly batch?: true;
}

export function readBackfillSpec(spec: Readonly<Record<string, unknown>>): BackfillSpec {
  return spec as unknown as BackfillSpec;
}

/** Returns the range of a backfill. The tenant '' stands for all tenants. */
export function readRange({ from, to, where }: BackfillSpec, tenant: string): JobRange {
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

/** Specification of a rescore: which decisions, and the configuration that scores them. */
export interface RescoreSpec {
  /** Scorer whose scored decisions are made again; null: failed decisions of all scorers. */
  readonly scorer: string | null;
  /** Only targets whose last span arrived at or after this time, Unix milliseconds; null: all. */
  readonly sinceMs: number | null;
  readonly fingerprints: Fingerprints;
}

/** Builds the specification of a rescore for the rules in force; without a scorer for failed decisions. */
export function buildRescoreSpec(
  rules: readonly PreparedRule[],
  { scorer, sinceMs }: { readonly scorer?: string | undefined; readonly sinceMs?: number | undefined },
): RescoreSpec {
  const isChosen = ({ name }: { readonly name: string }) => scorer === undefined || name === scorer;
  const chosen = rules.map((rule) => ({ ...rule, scorers: rule.scorers.filter(isChosen) }));
  const fingerprints = describeRules(chosen).map(({ name, scorers }) => [name, scorers]);
  return {
    scorer: scorer ?? null,
    sinceMs: sinceMs ?? null,
    fingerprints: Object.fromEntries(fingerprints) as Fingerprints,
  };
}

export function readRescoreSpec(spec: Readonly<Record<string, unknown>>): RescoreSpec {
  const { scorer, sinceMs, fingerprints } = spec;
  return {
    scorer: typeof scorer === 'string' ? scorer : null,
    sinceMs: typeof sinceMs === 'number' ? sinceMs : null,
    fingerprints: isRecord(fingerprints) ? (fingerprints as Fingerprints) : {},
  };
}

export type ReasonCounts = Readonly<Record<string, number>>;

export function countReason(counts: ReasonCounts, code: string, count = 1): ReasonCounts {
  return count === 0 ? counts : { ...counts, [code]: (counts[code] ?? 0) + count };
}

export function sumReasons(reasons: ReasonCounts): number {
  return Object.values(reasons).reduce((sum, count) => sum + count, 0);
}

const Reasons = z.record(z.string(), z.number());

/** Counts of a backfill. A pair is one scorer of one rule on one target. */
export const BackfillCounts = z.object({
  /** Traces of agents or models in the range that meet its conditions. */
  matched: z.number(),
  /** Sessions whose last turn lies in the range. 0 without rules on sessions. */
  sessions: z.number(),
  /** Pairs with a score that this job has computed. */
  scored: z.number(),
  /** Pairs without a new score, by reason. */
  skipped: Reasons,
  /** Pairs whose scorer failed, by reason. */
  failed: Reasons,
});
export type BackfillCounts = Readonly<z.infer<typeof BackfillCounts>>;

export interface BackfillReport extends BackfillCounts {
  /** Pairs of traces that were not looked at yet; estimated from the number of traces. */
  readonly remaining: number;
  /** Pairs a second, lately; null before the first. */
  readonly perSecond: number | null;
  readonly etaSeconds: number | null;
  readonly maxCostUsd: number | null;
}

export const NO_COUNTS: BackfillCounts = { matched: 0, sessions: 0, scored: 0, skipped: {}, failed: {} };

const EMPTY_REPORT: BackfillReport = {
  ...NO_COUNTS,
  remaining: 0,
  perSecond: null,
  etaSeconds: null,
  maxCostUsd: null,
};

export function readBackfillReport(report: unknown): BackfillReport {
  return isRecord(report) ? { ...EMPTY_REPORT, ...report } : EMPTY_REPORT;
}

/** Reasons of pairs that no decision of the backfill has. */
export const SKIPPED = {
  /** The score of the same evidence and fingerprint is there. */
  scoredBefore: 'already_scored',
  /** The scorer failed in an earlier backfill; the same evidence would fail again. */
  failedBefore: 'already_failed',
  /** The trace may still get spans. */
  arriving: 'arriving',
  /** Live scoring has yet to decide the trace with a scorer of the backfill. */
  leftToLive: 'left_to_live',
  /** The spans are no longer stored. */
  gone: 'evidence_gone',
  /** The money of the backfill is spent. */
  maxCost: 'max_cost',
} as const;

interface CountTerms {
  readonly rules: readonly PreparedRule[];
  /** Start of the job by the store's clock, Unix milliseconds. */
  readonly begunMs: number;
  /** Returns true for a decision whose score this job has computed. */
  readonly isNewScore: (row: Decision) => boolean;
  /** True when the money of the backfill is spent: a scorer that waits for money does so for that reason. */
  readonly isSpent: boolean;
}

export function countRows(rows: readonly Decision[], terms: CountTerms): BackfillCounts {
  return rows.reduce<BackfillCounts>((counts, row) => {
    const [kind, code, pairs] = readResult(row, terms);
    return kind === 'scored'
      ? { ...counts, scored: counts.scored + pairs }
      : { ...counts, [kind]: countReason(counts[kind], code, pairs) };
  }, NO_COUNTS);
}

export function addSkipped(counts: BackfillCounts, code: string, pairs: number): BackfillCounts {
  return { ...counts, skipped: countReason(counts.skipped, code, pairs) };
}

export function addCounts(a: BackfillCounts, b: BackfillCounts): BackfillCounts {
  return joinCounts(a, b, (one, other) => one + other);
}

/** Returns the larger of both counts, each alone: progress that was shown never falls while pages are read again. */
export function atLeast(counts: BackfillCounts, shown: BackfillCounts): BackfillCounts {
  return joinCounts(counts, shown, Math.max);
}

function joinCounts(
  a: BackfillCounts,
  b: BackfillCounts,
  join: (a: number, b: number) => number,
): BackfillCounts {
  const joinReasons = (one: ReasonCounts, other: ReasonCounts) =>
    Object.entries(other).reduce(
      (all, [code, count]) => ({ ...all, [code]: join(all[code] ?? 0, count) }),
      one,
    );
  return {
    matched: join(a.matched, b.matched),
    sessions: join(a.sessions, b.sessions),
    scored: join(a.scored, b.scored),
    skipped: joinReasons(a.skipped, b.skipped),
    failed: joinReasons(a.failed, b.failed),
  };
}

type PairResult = readonly [kind: 'scored' | 'skipped' | 'failed', code: string, pairs: number];

function readResult(row: Decision, { rules, begunMs, isNewScore, isSpent }: CountTerms): PairResult {
  const code = readReasonCode(row.reason) || row.status;
  const isWhole = row.scorer === WHOLE_RULE;
  const pairs = isWhole ? (rules.find(({ name }) => name === row.rule)?.scorers.length ?? 0) : 1;
  if (row.status === 'scored') {
    // The row of a whole rule only withdraws an earlier verdict.
    return isWhole
      ? ['scored', '', 0]
      : isNewScore(row)
        ? ['scored', '', 1]
        : ['skipped', SKIPPED.scoredBefore, 1];
  }
  if (row.status === 'failed' && row.decidedAt < begunMs) {
    return ['skipped', SKIPPED.failedBefore, pairs];
  }
  if (row.status === 'deferred' && isSpent && code === 'budget_exhausted') {
    return ['skipped', SKIPPED.maxCost, pairs];
  }
  return [row.status === 'failed' || row.status === 'deferred' ? 'failed' : 'skipped', code, pairs];
}

/** Counts of a rescore. All but `matched` count decisions: one scorer of one rule on one target. */
export interface RescoreReport {
  /** Traces and sessions that were looked at. */
  readonly matched: number;
  readonly scored: number;
  /** Decisions whose scorer cannot score the target. */
  readonly notApplicable: number;
  readonly skipped: ReasonCounts;
  /** Decisions whose scorer failed again. Their former row stands. */
  readonly failed: ReasonCounts;
  /** Decisions that live scoring tries again. */
  readonly deferred: ReasonCounts;
  /** Decisions of passes that were interrupted before they were counted. */
  readonly uncounted: number;
  readonly remaining: number;
}

const EMPTY_RESCORE: RescoreReport = {
  matched: 0,
  scored: 0,
  notApplicable: 0,
  skipped: {},
  failed: {},
  deferred: {},
  uncounted: 0,
  remaining: 0,
};

export type RescoreResult =
  | { readonly kind: 'scored' | 'notApplicable' }
  | { readonly kind: 'skipped' | 'failed' | 'deferred'; readonly code: string; readonly detail: string };

export function addResult(report: RescoreReport, result: RescoreResult): RescoreReport {
  const counted = { ...report, remaining: Math.max(0, report.remaining - 1) };
  return 'code' in result
    ? { ...counted, [result.kind]: countReason(report[result.kind], result.code) }
    : { ...counted, [result.kind]: report[result.kind] + 1 };
}

export function readRescoreReport(report: unknown): RescoreReport {
  return isRecord(report) ? { ...EMPTY_RESCORE, ...report } : EMPTY_RESCORE;
}
