import { lookup as resolveName, type LookupAddress, type LookupOptions } from 'node:dns';
import { request as requestHttp, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { AppError, readErrorMessage } from '../../domain/errors.ts';
import { type AddressPolicy, writtenAddress } from '../../config/private-addresses.ts';
import { retryAfterMs } from './retry-after.ts';

export interface PostRequest {
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface PostReply {
  readonly status: number;
  /** By its `Retry-After`. */
  readonly retryAfterMs: number | undefined;
  /** The beginning of what was said, at most 1,024 bytes; '' for success. */
  readonly text: string;
}

/** Throws `delivery_failed`, retryable, when there was no reply, in time, from an address that may be asked. */
export type Post = (request: PostRequest, signal: AbortSignal) => Promise<PostReply>;

export interface GuardedPostOptions {
  /** Addresses that may be asked. Every address of a name must be permitted: a name cannot lead inside. */
  readonly permits: AddressPolicy;
  /** Longest time from the connection to the end of the reply. */
  readonly timeoutMs: number;
}

export interface GuardedPostDeps {
  /** Unix milliseconds. */
  readonly now: () => number;
  /** All addresses of a name. */
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
 * Posts to the very address that was checked, so that a name which resolves to another one a moment later leads nowhere. No
 * redirect is followed: it is a reply like any other.
 */
export function createGuardedPost(options: GuardedPostOptions, deps: GuardedPostDeps = DEPS): Post {
  const lookup = guardedLookup(options.permits, deps);
  return async (request, signal) => {
    const url = new URL(request.url);
    const written = writtenAddress(url);
    try {
      if (written !== undefined && !options.permits(written)) {
        throw new Error(privateMessage(written));
      }
      const within = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]);
      return await exchangeOnce(url, request, { lookup, within, now: deps.now });
    } catch (cause) {
      // A URL may hold a key in its path or query; its origin does not.
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
  readonly lookup: LookupFunction;
  readonly within: AbortSignal;
  readonly now: () => number;
}

function exchangeOnce(
  url: URL,
  { body, headers }: PostRequest,
  { lookup, within, now }: Exchange,
): Promise<PostReply> {
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const request: ClientRequest = send(url, {
      method: 'POST',
      headers: { 'user-agent': 'spanscore', ...headers, 'content-length': Buffer.byteLength(body) },
      lookup,
      signal: within,
      // A connection of its own: one that was left open may be closed by the receiver at any time.
      agent: false,
    });
    let hasReply = false;
    request.on('response', (response: IncomingMessage) => {
      hasReply = true;
      void readReply(response, now).then((reply) => {
        resolve(reply);
        request.destroy();
      });
    });
    request.on('error', (error) => {
      // What breaks off after the status has come is the reader's to judge.
      if (!hasReply) {
        reject(within.aborted ? abortReason(within, error) : error);
      }
    });
    request.end(body);
  });
}

function abortReason(signal: AbortSignal, error: Error): Error {
  return signal.reason instanceof Error ? signal.reason : error;
}

/** A success needs no words. Of a refusal, what came before it broke off will do. */
async function readReply(response: IncomingMessage, now: () => number): Promise<PostReply> {
  const status = response.statusCode ?? 0;
  const { 'retry-after': after } = response.headers;
  const reply = { status, retryAfterMs: retryAfterMs({ 'retry-after': after }, now()) };
  if (status >= 200 && status < 300) {
    return { ...reply, text: '' };
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= MAX_REPLY_BYTES) {
        break;
      }
    }
  } catch {
    // The status says enough.
  }
  return { ...reply, text: Buffer.concat(chunks).subarray(0, MAX_REPLY_BYTES).toString('utf8') };
}
