import { DECISION_STATUSES, type Decision, type StatusCounts } from '../domain/decision.ts';

export function countStatuses(decisions: readonly Pick<Decision, 'status'>[]): StatusCounts {
  const groups = Map.groupBy(decisions, ({ status }) => status);
  return Object.fromEntries([...groups].map(([status, rows]) => [status, rows.length]));
}

export function addCounts(a: StatusCounts, b: StatusCounts): StatusCounts {
  const sums = DECISION_STATUSES.map((status) => [status, (a[status] ?? 0) + (b[status] ?? 0)] as const);
  return Object.fromEntries(sums.filter(([, sum]) => sum > 0));
}
