import { randomUUID } from 'node:crypto';
import type { AuditAction } from '../../../src/api/writes/audit.ts';
import { newSpanId, newTraceId } from '../store/store-rows.ts';
import { tokenOf, type ApiRequest } from './api-world.ts';
import type { DescribedRoute } from './described-routes.ts';
import type { RouteValues } from './tenant-rows.ts';

/** Request of a route that writes. */
export interface WriteCase {
  /** Name in the audit. */
  readonly action: AuditAction;
  readonly body?: (values: RouteValues) => unknown;
  /** Value of `{id}` in the path. Default: `id`. */
  readonly idOf?: string;
}

/** A case of each route that writes. */
export const WRITE_CASES: Readonly<Record<string, WriteCase>> = {
  'post /session': { action: 'session.begin', body: ({ token }) => ({ token }) },
  'delete /session': { action: 'session.end' },
  'post /alerts/{id}/ack': { action: 'alert.acknowledge', idOf: 'incidentId', body: () => ({}) },
  'post /alerts/{id}/notes': { action: 'alert.note', idOf: 'incidentId', body: () => ({ text: 'Seen.' }) },
  'post /issues/{id}/resolve': { action: 'issue.change', idOf: 'issueId', body: () => ({ version: '2' }) },
  'post /issues/{id}/reopen': { action: 'issue.change', idOf: 'issueId', body: () => ({}) },
  'post /issues/{id}/ignore': { action: 'issue.change', idOf: 'issueId', body: () => ({}) },
  'post /issues/{id}/split': {
    action: 'issue.change',
    idOf: 'issueId',
    body: ({ issueTraceId }) => ({ traceIds: [issueTraceId] }),
  },
  'post /issues/{id}/merge': {
    action: 'issue.change',
    idOf: 'issueId',
    body: ({ otherIssueId }) => ({ into: otherIssueId }),
  },
  'post /mutes': { action: 'mute.set', body: ({ incidentId }) => ({ subject: incidentId, for: '1h' }) },
  'delete /mutes': { action: 'mute.end' },
  'post /traces/sample': { action: 'trace.sample', body: () => ({}) },
  'post /markers': { action: 'marker.record', body: ({ service }) => ({ service, version: 'v1' }) },
  'post /scores': {
    action: 'score.post',
    body: ({ traceId }) => ({ traceId, scorer: 'correctness', score: 1, source: 'human' }),
  },
  'post /labels': {
    action: 'label.post',
    body: ({ traceId }) => ({ traceId, scorer: 'correctness', score: 1 }),
  },
  'delete /scores/{scoreId}': { action: 'score.delete' },
  'post /score': {
    action: 'trace.score',
    body: ({ traceId }) => ({ traceId, scorers: ['keyword-coverage'] }),
  },
  'post /preview': { action: 'rule.preview', body: () => ({ rule: 'default', sample: 1 }) },
  'post /sql': { action: 'sql.run', body: () => ({ query: 'SELECT count() FROM scores' }) },
  'post /config/reload': { action: 'config.reload', body: () => ({}) },
  'post /config/apply': {
    action: 'config.apply',
    body: () => ({ changes: [{ path: 'rules.production.sample.rate', value: 0.5 }], dryRun: true }),
  },
  'post /backfills': { action: 'backfill.start', body: () => ({ from: '1d', scorer: 'tone' }) },
  'post /backfills/{id}/pause': { action: 'backfill.pause', body: () => ({}) },
  'post /backfills/{id}/resume': { action: 'backfill.resume', body: () => ({}) },
  'post /backfills/{id}/cancel': { action: 'backfill.cancel', body: () => ({}) },
  'delete /traces/{traceId}': { action: 'trace.purge' },
  'delete /sessions/{sessionId}': { action: 'session.purge' },
  'delete /users/{userId}': { action: 'user.purge' },
  'delete /tenants/{tenant}': { action: 'tenant.purge' },
};

/** Values of things that are not stored. */
export function unknownValues(): RouteValues {
  return {
    traceId: newTraceId(),
    spanId: newSpanId(),
    scoreId: randomUUID(),
    id: randomUUID(),
    incidentId: randomUUID(),
    issueId: '0123456789abcdef',
    otherIssueId: 'fedcba9876543210',
    issueTraceId: newTraceId(),
    sessionId: 'chat-of-nobody',
    userId: 'nobody',
    tenant: 'nobody',
    subject: 'Nothing',
    version: 'v0',
    service: 'shop',
    scorer: 'correctness',
    agent: 'nobody',
    by: 'agent',
    left: 'correctness',
    right: 'tone',
    token: tokenOf('admin'),
  };
}

/** Names of the values of `{id}`, by the first part of the path. Default: `id`. */
const ID_OF: Readonly<Record<string, string>> = { alerts: 'incidentId', issues: 'issueId' };

/** Builds a request of a route without a token. Throws for a route that has no case, or a parameter without a value. */
export function buildRequest({ method, path, operation }: DescribedRoute, values: RouteValues): ApiRequest {
  const name = `${method} ${path}`;
  const write = WRITE_CASES[name];
  if (write === undefined && method !== 'get') {
    throw new Error(`${name} writes: add a case for it to WRITE_CASES`);
  }
  const read = (parameter: string) => {
    const value =
      values[parameter === 'id' ? (write?.idOf ?? ID_OF[path.split('/')[1] ?? ''] ?? 'id') : parameter];
    if (value === undefined) {
      throw new Error(`${name} has the parameter ${parameter}: add a value for it to storeTenantRows`);
    }
    return encodeURIComponent(value);
  };
  const query = (operation.parameters ?? [])
    .filter((each) => each.in === 'query' && each.required === true)
    .map((each) => `${each.name}=${read(each.name)}`)
    .join('&');
  const filled = path.replaceAll(/\{(.+?)\}/gu, (_, parameter: string) => read(parameter));
  const body = write?.body?.(values);
  return {
    method: method.toUpperCase(),
    path: `${filled}${query && `?${query}`}`,
    ...(body === undefined ? {} : { body }),
  };
}
