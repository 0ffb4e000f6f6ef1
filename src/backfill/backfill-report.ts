import { WHOLE_RULE, type Decision } from '../domain/decision.ts';
import { isRecord } from '../domain/unknown-values.ts';
import { readReasonCode } from '../scoring/attempt/attempt-failure.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';

/** Numbers by the code of a reason. */
export type ReasonCounts = Readonly<Record<string, number>>;

/** Counts of a backfill. A pair is one scorer of one rule on one target. */
export interface BackfillReport {
  /** Traces of agents or models in the range that meet its conditions. */
  readonly matched: number;
  /** Sessions whose last turn lies in the range. 0 without rules on sessions. */
  readonly sessions: number;
  /** Pairs with a score that this job has computed. */
  readonly scored: number;
  /** Pairs without a new score, by reason. */
  readonly skipped: ReasonCounts;
  /** Pairs whose scorer failed, by reason. */
  readonly failed: ReasonCounts;
  /** Pairs of traces that were not looked at yet; estimated from the number of traces. */
  readonly remaining: number;
  /** Pairs a second, lately; null before the first. */
  readonly perSecond: number | null;
  readonly etaSeconds: number | null;
  readonly maxCostUsd: number | null;
}

export const EMPTY_REPORT: BackfillReport = {
  matched: 0,
  sessions: 0,
  scored: 0,
  skipped: {},
  failed: {},
  remaining: 0,
  perSecond: null,
  etaSeconds: null,
  maxCostUsd: null,
};

/** Reads the report of a stored job. */
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

/** Pairs by their result. */
export type PairCounts = Pick<BackfillReport, 'scored' | 'skipped' | 'failed'>;

export const NO_PAIRS: PairCounts = { scored: 0, skipped: {}, failed: {} };

/** Facts that turn decisions into counts. */
export interface CountTerms {
  readonly rules: readonly PreparedRule[];
  /** Begin of the job by the store's clock, Unix milliseconds. */
  readonly begunMs: number;
  /** Returns true for a decision whose score this job has computed. */
  readonly isNewScore: (row: Decision) => boolean;
  /** True when the money of the backfill is spent: a scorer that waits for money does so for that reason. */
  readonly isSpent: boolean;
}

/** Counts the pairs of decisions. */
export function countRows(rows: readonly Decision[], terms: CountTerms): PairCounts {
  return rows.reduce((counts, row) => addPairs(counts, ...readResult(row, terms)), NO_PAIRS);
}

/** Adds pairs with one reason. */
export function addSkipped(counts: PairCounts, code: string, pairs: number): PairCounts {
  return addPairs(counts, 'skipped', code, pairs);
}

/** Adds counts to a report. */
export function addCounts(report: BackfillReport, counts: PairCounts): BackfillReport {
  const join = (a: ReasonCounts, b: ReasonCounts) =>
    Object.entries(b).reduce((sum, [code, count]) => ({ ...sum, [code]: (sum[code] ?? 0) + count }), a);
  return {
    ...report,
    scored: report.scored + counts.scored,
    skipped: join(report.skipped, counts.skipped),
    failed: join(report.failed, counts.failed),
  };
}

/** Returns the larger of both counts, each alone: progress that was shown never falls while pages are read again. */
export function atLeast(report: BackfillReport, shown: BackfillReport): BackfillReport {
  const join = (a: ReasonCounts, b: ReasonCounts) =>
    Object.entries(b).reduce(
      (all, [code, count]) => ({ ...all, [code]: Math.max(all[code] ?? 0, count) }),
      a,
    );
  return {
    ...report,
    matched: Math.max(report.matched, shown.matched),
    sessions: Math.max(report.sessions, shown.sessions),
    scored: Math.max(report.scored, shown.scored),
    skipped: join(report.skipped, shown.skipped),
    failed: join(report.failed, shown.failed),
  };
}

/** Sums the counts of all reasons. */
export function sumReasons(reasons: ReasonCounts): number {
  return Object.values(reasons).reduce((sum, count) => sum + count, 0);
}

type PairResult = readonly [kind: keyof PairCounts, code: string, pairs: number];

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

function addPairs(counts: PairCounts, kind: keyof PairCounts, code: string, pairs: number): PairCounts {
  if (pairs === 0) {
    return counts;
  }
  return kind === 'scored'
    ? { ...counts, scored: counts.scored + pairs }
    : { ...counts, [kind]: { ...counts[kind], [code]: (counts[kind][code] ?? 0) + pairs } };
}
