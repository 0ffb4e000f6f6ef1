import { fillPath, type Query } from './fill-path.ts';

/** Writes the address of the page of a trace. It names the tenant, unless that is '': other tenants may have the same id. */
export function tracePath(
  { tenant, traceId }: { readonly tenant: string; readonly traceId: string },
  query: Query = {},
): string {
  return fillPath('/traces/:traceId', { traceId }, { ...query, tenant: tenant || undefined });
}

/** Writes the address of two versions of an agent side by side; '' is an agent that only its versions tell. */
export function comparePath(agent: string, versions: Query = {}): string {
  return fillPath('/compare', {}, { tab: agent === '' ? 'versions' : undefined, agent, ...versions });
}

/** Writes the address of the page of a scorer. */
export function scorerPath(scorer: string, query: Query = {}): string {
  return fillPath('/scores/:scorer', { scorer }, query);
}

/** Writes the address of the page of a session, as `tracePath` does. */
export function sessionPath({
  tenant,
  sessionId,
}: {
  readonly tenant: string;
  readonly sessionId: string;
}): string {
  return fillPath('/sessions/:sessionId', { sessionId }, { tenant: tenant || undefined });
}
