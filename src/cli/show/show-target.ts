import { cleanLine } from './clean-text.ts';

/**
 * Formats the target for people: the session, or the trace, its run or span when there are several, and the tenant when there is one,
 * because two tenants may send the same trace id.
 */
export function showTarget(row: { tenant: string; traceId: string; targetId?: string }): string {
  const { tenant, traceId, targetId = '' } = row;
  const name = traceId === '' ? `session ${targetId}` : targetId.startsWith(traceId) ? targetId : traceId;
  return cleanLine(tenant === '' ? name : `${tenant} ${name}`, 120);
}
