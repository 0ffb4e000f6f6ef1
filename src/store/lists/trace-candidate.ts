import type { ListKey } from '../contracts/lists.ts';
import type { TraceKey } from '../contracts/stores.ts';

/** Trace at a start, which may be out of date. */
export interface TraceCandidate extends TraceKey {
  readonly atMs: number;
  /** False for a trace without a run. */
  readonly isRead: boolean;
}

/** Rows of one source of candidates. */
export interface CandidateRange {
  readonly after: ListKey | undefined;
  readonly limit: number;
}

/** Key of a trace: two tenants may have the same trace id. */
export function keyOf({ atMs, traceId, tenant }: TraceCandidate): ListKey {
  return { atMs, id: `${traceId} ${tenant}` };
}

/** Parameters of a cursor of traces. */
export function afterParams(after: ListKey | undefined) {
  const [id = '', ...tenant] = after?.id.split(' ') ?? [];
  return after === undefined ? {} : { afterMs: after.atMs, afterId: id, afterTenant: tenant.join(' ') };
}
