import { isIP } from 'node:net';
import type { MiddlewareHandler } from 'hono';
import type { ApiEnv } from './api-env.ts';
import { answerProblem } from './problem.ts';

export interface BrowserGuardOptions {
  readonly scheme: 'http' | 'https';
  /** Names under which users reach the API, beside loopback names and IP addresses; lower case, without port. */
  readonly hosts: readonly string[];
}

/** Paths that a supervisor asks under any name; they change nothing. */
const EXEMPT = ['/healthz', '/readyz', '/metrics'];

const READS = ['GET', 'HEAD'];

/**
 * Refuses requests that a foreign page makes in somebody's browser: through a name that was rebound to this address, from
 * another origin, or as a form.
 */
export function guardBrowsers({ scheme, hosts }: BrowserGuardOptions): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    if (EXEMPT.includes(c.req.path)) {
      return next();
    }
    const host = c.req.header('host') ?? '';
    const fault =
      findHostFault(host, hosts) ??
      findOriginFault(c.req.header('origin'), `${scheme}://${host}`) ??
      findBodyFault(c.req.method, c.req.header('content-type'));
    return fault === undefined
      ? next()
      : answerProblem(c, { status: 403, title: 'Forbidden', detail: fault });
  };
}

function findHostFault(host: string, hosts: readonly string[]): string | undefined {
  const name = host.replace(/:\d*$/u, '').toLowerCase();
  const isAddress = isIP(name.replace(/^\[(.*)\]$/u, '$1')) !== 0;
  const isLoopback = name === 'localhost' || name.endsWith('.localhost');
  return isAddress || isLoopback || hosts.includes(name)
    ? undefined
    : `the host ${JSON.stringify(host)} is not known; add its name to api.hosts`;
}

function findOriginFault(origin: string | undefined, own: string): string | undefined {
  return origin === undefined || origin === own
    ? undefined
    : `a page of ${JSON.stringify(origin)} may not ask ${own}`;
}

function findBodyFault(method: string, contentType: string | undefined): string | undefined {
  const isJson = /^application\/json\s*(;|$)/iu.test(contentType ?? '');
  // A browser asks before it sends a DELETE to another origin, so a DELETE needs no body.
  return READS.includes(method) || isJson || (method === 'DELETE' && contentType === undefined)
    ? undefined
    : 'a write needs the header "content-type: application/json"';
}
