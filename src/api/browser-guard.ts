import { isIP } from 'node:net';
import type { Context, MiddlewareHandler } from 'hono';
import { OWN_SITES } from './access/request-site.ts';
import { type ApiEnv, answerProblem } from './router.ts';

export interface BrowserGuardOptions {
  /** Names under which users reach the API, beside loopback names and IP addresses; lower case, without port. */
  readonly hosts: readonly string[];
  /** True without tokens: everything that reaches the API may ask. */
  readonly isOpen: boolean;
  /** Paths that are not guarded. */
  readonly exempt: readonly string[];
  /** True for a path with data, which no foreign page may load as a script or an image either. */
  readonly hasData: (path: string) => boolean;
}

const READS = ['GET', 'HEAD'];

/**
 * Refuses requests that a foreign page makes in somebody's browser: through a name that was rebound to this address, from
 * another origin, or as a form.
 */
export function guardBrowsers({
  hosts,
  isOpen,
  exempt,
  hasData,
}: BrowserGuardOptions): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const { path, method } = c.req;
    if (exempt.includes(path)) {
      return next();
    }
    const { site } = c.var;
    const fault =
      site.hosts.map((host) => findHostFault(host, hosts, isOpen)).find((found) => found !== undefined) ??
      findOriginFault(c.req.header('origin'), site.origins) ??
      (hasData(path) ? findSiteFault(c.req.header('sec-fetch-site')) : undefined) ??
      (isBodylessOfProgram(c) ? undefined : findBodyFault(method, c.req.header('content-type')));
    return fault === undefined
      ? next()
      : answerProblem(c, { status: 403, title: 'Forbidden', detail: fault });
  };
}

/** Addresses that lead to this machine, and from which browsers do not say the site of a page that asks. */
const UNSPECIFIED = ['0.0.0.0', '[::]'];

function findHostFault(host: string, hosts: readonly string[], isOpen: boolean): string | undefined {
  const name = host.replace(/:\d*$/u, '').toLowerCase();
  const isAddress = isIP(name.replace(/^\[(.*)\]$/u, '$1')) !== 0 && !(isOpen && UNSPECIFIED.includes(name));
  const isLoopback = name === 'localhost' || name.endsWith('.localhost');
  return isAddress || isLoopback || hosts.includes(name)
    ? undefined
    : `the host ${JSON.stringify(host)} is not known; add its name to api.hosts, or set api.publicUrl`;
}

function findOriginFault(origin: string | undefined, own: readonly string[]): string | undefined {
  return origin === undefined || own.includes(origin)
    ? undefined
    : `a page of ${JSON.stringify(origin)} may not ask ${own.join(' or ')}; if users open the dashboard at this address of a proxy, set api.publicUrl to it`;
}

function findSiteFault(site: string | undefined): string | undefined {
  return site === undefined || OWN_SITES.includes(site)
    ? undefined
    : `a page of another site may not ask: "sec-fetch-site" is ${JSON.stringify(site)}; ask from a program, with a bearer token`;
}

/** True for a write without a body of a program: browsers say the origin of each of their writes. */
function isBodylessOfProgram({ req }: Context): boolean {
  const headers = ['content-type', 'origin', 'sec-fetch-site'].map((name) => req.header(name));
  return headers.every((value) => value === undefined) && Number(req.header('content-length') ?? 0) === 0;
}

function findBodyFault(method: string, contentType: string | undefined): string | undefined {
  const isJson = /^application\/json\s*(;|$)/iu.test(contentType ?? '');
  // A browser asks before it sends a DELETE to another origin, so a DELETE needs no body.
  return READS.includes(method) || isJson || (method === 'DELETE' && contentType === undefined)
    ? undefined
    : 'a write needs the header "content-type: application/json"';
}
