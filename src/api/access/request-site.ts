import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context } from 'hono';
import { createNetworkCheck } from '../../config/addresses/private-addresses.ts';
import { isBasePath, readPublicUrl, trimPath } from '../../config/addresses/endpoints.ts';

/** Address under which the sender of a request reaches the API, and the sender's own. */
export interface RequestSite {
  /** Hosts that the request names, each perhaps with a port. Each has to be known. */
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  /** True when the sender speaks TLS, with this process or with a proxy. */
  readonly isSecure: boolean;
  /** Path that a proxy adds before all paths of this process, without a slash at its end; '' for none. */
  readonly basePath: string;
  /** Address of the sender, behind trusted proxies. */
  readonly address: string;
}

/** Returns the site that the first handler of a request has set. */
export function siteOf(c: Context): RequestSite {
  return c.get('site') as RequestSite;
}

/** Values of `Sec-Fetch-Site` of a request by our own page, and by a person. */
export const OWN_SITES = ['same-origin', 'none'];

export interface SiteOptions {
  readonly scheme: 'http' | 'https';
  /** Address under which browsers reach the API. Then headers of proxies say nothing about it. */
  readonly publicUrl?: string | undefined;
  /** Addresses and networks of proxies whose `X-Forwarded-*` counts. */
  readonly trustedProxies: readonly string[];
}

export function createSiteReader({ scheme, publicUrl, trustedProxies }: SiteOptions) {
  const isTrusted = createNetworkCheck(trustedProxies);
  return (c: Context): RequestSite => {
    const host = c.req.header('host') ?? '';
    const peer = getConnInfo(c).remote.address ?? '';
    const isForwarded = isTrusted(peer);
    /** Returns the values of a header of a trusted proxy; the first one is of the proxy next to the sender. */
    const readForwarded = (name: string): string[] => {
      const value = isForwarded ? c.req.header(`x-forwarded-${name}`) : undefined;
      return value?.split(',').map((item) => item.trim()) ?? [];
    };
    const senders = readForwarded('for');
    const address = senders.findLast((each) => !isTrusted(each)) ?? senders[0] ?? peer;
    if (publicUrl !== undefined) {
      const { origin, basePath } = readPublicUrl(publicUrl);
      // A page under the public name without its TLS is a foreign one.
      const isPublic = host.toLowerCase() === new URL(origin).host;
      const origins = isPublic ? [origin] : [origin, `${scheme}://${host}`];
      return { hosts: [host], origins, isSecure: origin.startsWith('https:'), basePath, address };
    }
    const hosts = readForwarded('host');
    const isSecure = scheme === 'https' || readForwarded('proto')[0]?.toLowerCase() === 'https';
    const prefix = trimPath(readForwarded('prefix')[0] ?? '');
    return {
      hosts: [host, ...hosts],
      origins: [`${isSecure ? 'https' : 'http'}://${hosts[0] ?? host}`],
      isSecure,
      basePath: isBasePath(prefix) ? prefix : '',
      address,
    };
  };
}
