import { cleanLine } from './clean-text.ts';

/**
 * What a line is about, for people: the trace, with the run or span in it where that is one of several, after the tenant
 * where there is one, for two tenants may have sent traces of the same id.
 */
export function showTarget(row: { tenant: string; traceId: string; targetId?: string }): string {
  const { tenant, traceId, targetId = '' } = row;
  const name = targetId.startsWith(traceId) ? targetId : traceId;
  return cleanLine(tenant === '' ? name : `${tenant} ${name}`, 120);
}
