import { isRecord } from '../domain/unknown-values.ts';

/** Numbers by the code of a reason. */
export type ReasonCounts = Readonly<Record<string, number>>;

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

export const EMPTY_REPORT: RescoreReport = {
  matched: 0,
  scored: 0,
  notApplicable: 0,
  skipped: {},
  failed: {},
  deferred: {},
  uncounted: 0,
  remaining: 0,
};

/** Result of one decision of a rescore. */
export type RescoreResult =
  | { readonly kind: 'scored' }
  | { readonly kind: 'notApplicable' }
  | { readonly kind: 'skipped' | 'failed' | 'deferred'; readonly code: string; readonly detail: string };

export function addResult(report: RescoreReport, result: RescoreResult): RescoreReport {
  const counted = { ...report, remaining: Math.max(0, report.remaining - 1) };
  if (!('code' in result)) {
    return { ...counted, [result.kind]: report[result.kind] + 1 };
  }
  const { kind, code } = result;
  return { ...counted, [kind]: { ...report[kind], [code]: (report[kind][code] ?? 0) + 1 } };
}

/** Reads the report of a stored job. */
export function readReport(report: unknown): RescoreReport {
  return isRecord(report) ? { ...EMPTY_REPORT, ...report } : EMPTY_REPORT;
}
