import { type Duplex, pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
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

/** Reply of a server: the part of a `Response` that callers read. */
export type Reply = Pick<Response, 'status' | 'statusText' | 'headers'> & {
  readonly body: AsyncIterable<Uint8Array> | null;
};

const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

let direct: Dispatcher | undefined;

/**
 * Sends a request like `outboundFetch` and follows no redirect. A text goes out, and its reply comes in, without the streams of `fetch`,
 * which take half of the processor time of a call.
 */
export async function exchange(input: string | URL | Request, init: RequestInit = {}): Promise<Reply> {
  const { body, method = 'GET', signal } = init;
  if (input instanceof Request || typeof body !== 'string') {
    return outboundFetch(input, { ...init, redirect: 'manual' });
  }
  const { Agent, request } = await import('undici');
  const proxy = findProxy(new URL(input));
  direct ??= new Agent();
  try {
    const reply = await request(input, {
      method,
      headers: Object.fromEntries(new Headers(init.headers)),
      body,
      signal,
      dispatcher: proxy === undefined ? direct : await openProxy(proxy),
    });
    const headers = new Headers(
      Object.entries(reply.headers).flatMap(([name, value]) =>
        [value ?? []].flat().map((each): [string, string] => [name, each]),
      ),
    );
    const decode = DECODERS[headers.get('content-encoding') ?? ''];
    return {
      status: reply.statusCode,
      statusText: reply.statusText,
      headers,
      // The reader of the decoded bytes gets the errors of both.
      body: decode === undefined ? reply.body : pipeline(reply.body, decode(), () => undefined),
    };
  } catch (cause) {
    throw signal?.aborted === true ? cause : new TypeError('fetch failed', { cause });
  }
}
