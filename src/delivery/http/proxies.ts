import type { Dispatcher } from 'undici';
import {
  createNetworkCheck,
  isAddressOrNetwork,
  isLoopbackUrl,
  writtenAddress,
} from '../../config/addresses/private-addresses.ts';
import { readEnvironment } from '../../config/environment.ts';
import { AppError } from '../../domain/errors.ts';

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/**
 * Reads the address of the proxy for a URL from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in lower or upper case;
 * lower case wins. Undefined for a direct connection: loopback never goes through a proxy. Throws for a value that is no address
 * of a proxy.
 */
export function findProxy(url: URL): URL | undefined {
  const own = url.protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  const name = readEither(own) === undefined ? 'all_proxy' : own;
  const value = readEither(name);
  if (value === undefined || isLoopbackUrl(url) || isDirect(url, readEither('no_proxy') ?? '')) {
    return undefined;
  }
  const text = value.includes('://') ? value : `http://${value}`;
  const proxy = URL.canParse(text) ? new URL(text) : undefined;
  if (proxy === undefined || !(proxy.protocol in DEFAULT_PORTS)) {
    // The value may hold a password.
    throw new AppError(
      `${name.toUpperCase()} is no address of a proxy: write http://host:port or https://host:port`,
      {
        code: 'config_invalid',
        stage: 'config',
        retryable: false,
      },
    );
  }
  return proxy;
}

function readEither(name: string): string | undefined {
  return readEnvironment(name) ?? readEnvironment(name.toUpperCase());
}

/** True for a URL that `NO_PROXY` names: by `*`, a name or a domain above it, an address or a network, each with or without a port. */
function isDirect(url: URL, noProxy: string): boolean {
  const address = writtenAddress(url);
  const host = address ?? url.hostname;
  const port = url.port === '' ? DEFAULT_PORTS[url.protocol] : url.port;
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (isAddressOrNetwork(entry)) {
        return address !== undefined && createNetworkCheck([entry])(address);
      }
      const [, named = '', wanted = port] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
      const bare = named.replace(/^\[|\]$/g, '').replace(/^\*?\./, '');
      return wanted === port && (bare === '*' || host === bare || host.endsWith(`.${bare}`));
    });
}

const dispatchers = new Map<string, Dispatcher>();

/** Returns what sends requests through a proxy: a tunnel for `https`, the whole URL in the request for `http`. */
export async function openProxy({ href: uri }: URL): Promise<Dispatcher> {
  const { ProxyAgent } = await import('undici');
  const dispatcher = dispatchers.get(uri) ?? new ProxyAgent({ uri, proxyTunnel: false });
  dispatchers.set(uri, dispatcher);
  return dispatcher;
}

/** `fetch` for servers of other parties: goes through the proxy of the environment, if one applies. */
export const outboundFetch: typeof globalThis.fetch = async (input, init) => {
  const proxy = findProxy(new URL(input instanceof Request ? input.url : input));
  if (proxy === undefined) {
    return globalThis.fetch(input, init);
  }
  // A dispatcher fits the `fetch` of its own version only, which may differ from that of Node.
  const { fetch } = await import('undici');
  const send = fetch as unknown as (input: unknown, init: unknown) => Promise<Response>;
  return send(input, { ...init, dispatcher: await openProxy(proxy) });
};
