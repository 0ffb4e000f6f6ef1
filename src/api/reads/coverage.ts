import { isLiveRule, type DecisionStatus } from '../../domain/decision.ts';
import type { CoverageRow, WaitingCount } from '../../store/contracts/sums.ts';
import { isoTime } from '../json/rows.ts';

/** Groups of a coverage. */
export const COVERAGE_GROUPS = ['scorer', 'rule', 'reason', 'service'] as const;
export type CoverageGroup = (typeof COVERAGE_GROUPS)[number];

/** One line of a coverage. Of the keys of groups, it has the one that was asked for; none for the total. */
export type CoverageLine = ReturnType<typeof coverageLines>[number];

const COUNT_OF = {
  scored: 'scored',
  filtered: 'filtered',
  sampled_out: 'sampledOut',
  not_applicable: 'notApplicable',
  deferred: 'deferred',
  failed: 'failed',
} as const satisfies Record<DecisionStatus, string>;

/**
 * Folds the counts of the store to the lines of a coverage, the greatest number of eligible decisions first. Decisions of backfills
 * and commands count only by rule, in lines of their own: they are about the same targets.
 */
export function coverageLines(
  rows: readonly CoverageRow[],
  waiting: readonly WaitingCount[] | undefined,
  { by, sinceMs }: { readonly by?: CoverageGroup | undefined; readonly sinceMs: number },
) {
  const counted = by === 'rule' ? rows : rows.filter(({ rule }) => isLiveRule(rule));
  const groups = Map.groupBy(counted, (row) => readGroup(row, by));
  const known = by === 'reason' || by === 'service' ? undefined : waiting;
  const waitings = Map.groupBy(known ?? [], (count) => (by === 'scorer' || by === 'rule' ? count[by] : ''));
  const names = new Set([...(by === undefined ? [''] : []), ...groups.keys(), ...waitings.keys()]);
  return [...names]
    .map((name) => {
      const group = groups.get(name) ?? [];
      const first = group[0];
      const since = isoTime(sinceMs);
      return {
        ...describeGroup(by, name, first),
        ...countRows(group, ({ decisions }) => decisions),
        ...(known === undefined
          ? {}
          : { waiting: (waitings.get(name) ?? []).reduce((sum, each) => sum + each.waiting, 0) }),
        reasons: countReasons(group),
        estimate: buildEstimate(group),
        since,
      };
    })
    .toSorted((a, b) => b.eligible - a.eligible);
}

function readGroup(row: CoverageRow, by: CoverageGroup | undefined): string {
  if (by === undefined) {
    return '';
  }
  return by === 'reason' ? JSON.stringify([row.status, row.reason]) : row[by];
}

function describeGroup(
  by: CoverageGroup | undefined,
  name: string,
  first: CoverageRow | undefined,
): {
  scorer?: string;
  rule?: string;
  reason?: string | null;
  service?: string | null;
  status?: DecisionStatus;
} {
  if (by === undefined) {
    return {};
  }
  if (by === 'reason') {
    return first === undefined ? {} : { reason: first.reason || null, status: first.status };
  }
  return { [by]: by === 'service' ? name || null : name };
}

function countRows(rows: readonly CoverageRow[], measure: (row: CoverageRow) => number) {
  const counts = { scored: 0, notApplicable: 0, deferred: 0, failed: 0, sampledOut: 0, filtered: 0 };
  for (const row of rows) {
    counts[COUNT_OF[row.status]] += measure(row);
  }
  const sampled = counts.scored + counts.notApplicable + counts.deferred + counts.failed;
  return { eligible: sampled + counts.sampledOut, sampled, ...counts };
}

function buildEstimate(rows: readonly CoverageRow[]) {
  const sampled = rows.filter(({ status }) => status !== 'sampled_out' && status !== 'filtered');
  const { eligible, scored, notApplicable, deferred, failed } = countRows(sampled, ({ weight }) => weight);
  const unweighted = sampled.reduce((sum, row) => sum + row.unweighted, 0);
  return { eligible, scored, notApplicable, deferred, failed, unweighted };
}

function countReasons(rows: readonly CoverageRow[]) {
  const reasons: Partial<Record<DecisionStatus, Record<string, number>>> = {};
  for (const { status, reason, decisions } of rows) {
    if (reason !== '') {
      const ofStatus = (reasons[status] ??= {});
      ofStatus[reason] = (ofStatus[reason] ?? 0) + decisions;
    }
  }
  return reasons;
}
