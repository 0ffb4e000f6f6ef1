import { DECISION_STATUSES, type Decision, type DecisionStatus } from '../domain/decision.ts';

/** Decisions by status; a status without any is left out. */
export type StatusCounts = Readonly<Partial<Record<DecisionStatus, number>>>;

export function countStatuses(decisions: readonly Pick<Decision, 'status'>[]): StatusCounts {
  const groups = Map.groupBy(decisions, ({ status }) => status);
  return Object.fromEntries([...groups].map(([status, rows]) => [status, rows.length]));
}

export function addCounts(a: StatusCounts, b: StatusCounts): StatusCounts {
  const sums = DECISION_STATUSES.map((status) => [status, (a[status] ?? 0) + (b[status] ?? 0)] as const);
  return Object.fromEntries(sums.filter(([, sum]) => sum > 0));
}
