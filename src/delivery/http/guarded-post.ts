import { lookup as resolveName, type LookupAddress, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { Dispatcher } from 'undici';
import { AppError, readErrorMessage } from '../../domain/errors.ts';
import { type AddressPolicy, writtenAddress } from '../../config/addresses/private-addresses.ts';
import { findProxy, openProxy } from './proxies.ts';
import { retryAfterMs } from './headers.ts';

export interface PostRequest {
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface PostReply {
  readonly status: number;
  /** Wait from the `Retry-After` header. */
  readonly retryAfterMs: number | undefined;
  /** Beginning of the reply body, at most 1,024 bytes; '' for success. */
  readonly text: string;
}

/** Posts a request. Throws `delivery_failed`, retryable, when no reply comes in time from a permitted address. */
export type Post = (request: PostRequest, signal: AbortSignal) => Promise<PostReply>;

export interface GuardedPostOptions {
  /**
   * Policy of permitted addresses. Every address of a host name must be permitted, so that a name cannot lead into the private
   * network. A proxy resolves names itself: of a request through a proxy, only a written address is checked.
   */
  readonly permits: AddressPolicy;
  /** Longest time from the connection to the end of the reply, milliseconds. */
  readonly timeoutMs: number;
}

export interface GuardedPostDeps {
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Resolves all addresses of a host name. */
  readonly resolve: (name: string, options: LookupOptions) => Promise<LookupAddress[]>;
}

const MAX_REPLY_BYTES = 1_024;

const DEPS: GuardedPostDeps = {
  now: Date.now,
  resolve: (name, options) =>
    new Promise((resolve, reject) => {
      resolveName(name, { ...options, all: true }, (error, addresses) =>
        error === null ? resolve(addresses) : reject(error),
      );
    }),
};

/**
 * Creates a function that posts to exactly the address that was checked, so that a name which resolves to another address a
 * moment later has no effect. Redirects are not followed: they are returned as a reply.
 */
export function createGuardedPost(options: GuardedPostOptions, deps: GuardedPostDeps = DEPS): Post {
  let direct: Dispatcher | undefined;
  return async (request, signal) => {
    const url = new URL(request.url);
    const written = writtenAddress(url);
    try {
      if (written !== undefined && !options.permits(written)) {
        throw new Error(privateMessage(written));
      }
      const within = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]);
      const proxy = findProxy(url);
      // A new connection each time: the receiver may close a kept connection at any time.
      direct ??= new (await import('undici')).Agent({
        connect: { lookup: guardedLookup(options.permits, deps) },
        pipelining: 0,
      });
      const dispatcher = proxy === undefined ? direct : await openProxy(proxy);
      return await exchangeOnce(url, request, { dispatcher, within, now: deps.now });
    } catch (cause) {
      // The message names the origin only: path and query of a URL may contain a key.
      throw new AppError(`${url.origin} could not be reached: ${describeFailure(cause, options.timeoutMs)}`, {
        code: 'delivery_failed',
        stage: 'alert',
        retryable: true,
        cause,
      });
    }
  };
}

function privateMessage(address: string): string {
  return `${address} is a private address; add it to alerts.allowAddresses if it is meant`;
}

function describeFailure(cause: unknown, timeoutMs: number): string {
  const within = cause instanceof Error ? (cause.cause ?? cause) : cause;
  return within instanceof Error && within.name === 'TimeoutError'
    ? `no reply within ${timeoutMs} ms`
    : readErrorMessage(cause);
}

function guardedLookup(permits: AddressPolicy, { resolve }: GuardedPostDeps): LookupFunction {
  return (name, options, callback) => {
    resolve(name, options).then(
      (addresses) => {
        const first = addresses[0];
        const refused = addresses.find(({ address }) => !permits(address));
        if (first === undefined || refused !== undefined) {
          const reason =
            refused === undefined ? `${name} has no address` : `${name}: ${privateMessage(refused.address)}`;
          callback(new Error(reason), '');
        } else if (options.all === true) {
          callback(null, addresses);
        } else {
          callback(null, first.address, first.family);
        }
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error(readErrorMessage(error)), ''),
    );
  };
}

interface Exchange {
  readonly dispatcher: Dispatcher;
  readonly within: AbortSignal;
  readonly now: () => number;
}

async function exchangeOnce(
  url: URL,
  { body, headers }: PostRequest,
  { dispatcher, within, now }: Exchange,
): Promise<PostReply> {
  const { request: send } = await import('undici');
  const reply = await send(url, {
    method: 'POST',
    headers: { 'user-agent': 'spanscore', ...headers },
    body,
    signal: within,
    dispatcher,
  });
  return readReply(reply, now);
}

/** Reads the text of a reply. The body of a success is not read; of a refusal, the part before an error is enough. */
async function readReply(
  { statusCode: status, headers, body }: Dispatcher.ResponseData,
  now: () => number,
): Promise<PostReply> {
  const after = [headers['retry-after']].flat()[0];
  const reply = { status, retryAfterMs: retryAfterMs({ 'retry-after': after }, now()) };
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    if (status >= 200 && status < 300) {
      return { ...reply, text: '' };
    }
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= MAX_REPLY_BYTES) {
        break;
      }
    }
  } catch {
    // The body broke off; the status is enough.
  } finally {
    body.on('error', () => undefined).destroy();
  }
  return { ...reply, text: Buffer.concat(chunks).subarray(0, MAX_REPLY_BYTES).toString('utf8') };
}
