import { z } from 'zod';
import { AppError, readErrorMessage } from '../domain/errors.ts';
import { retryAfterMs } from '../delivery/http/headers.ts';
import { outboundFetch } from '../delivery/http/proxies.ts';

/** Piece of a source: what is stored before its cursor is. */
export interface Batch {
  /** OTLP export requests as JSON texts or objects. */
  readonly requests: readonly (object | string)[];
  /** Name of the cursor, of a source with several. Default ''. */
  readonly key?: string;
  /** Place after these requests, as JSON; undefined: the place is the same. */
  readonly cursor?: unknown;
}

/** Reader of one source. It may remember what it has read; a new one begins at the stored cursors. */
export interface SourceReader {
  /** Reads what is new since the cursors, piece by piece, and ends when nothing is left. Throws when the source cannot be read. */
  pull(cursors: ReadonlyMap<string, unknown>, signal: AbortSignal): AsyncIterable<Batch>;
}

/** Fact in the metadata of each score that we write to a tool: such a score never comes back as a label. */
export const OWN_ID = 'spanscore.score_id';

/** Longest time of a request, milliseconds. */
const TIMEOUT_MS = 30_000;

/** Most characters of a reply that an error shows. */
const SHOWN_CHARS = 300;

/** Asks a tool for JSON of a form. */
export type AskJson = <T>(
  form: z.ZodType<T>,
  method: 'GET' | 'POST',
  path: string,
  options?: {
    readonly body?: object;
    readonly signal?: AbortSignal;
    /** Returns true for a 404 of what may be missing: it reads as an empty reply. */
    readonly mayMiss?: (text: string) => boolean;
  },
) => Promise<T>;

/** Creates the requests to a tool. They throw an `AppError` that names the tool, for every reply but 2xx with JSON of the form. */
export function createAskJson(
  name: string,
  endpoint: string,
  headers: Readonly<Record<string, string>>,
): AskJson {
  const base = endpoint.replace(/\/+$/u, '');
  return async (form, method, path, { body, signal, mayMiss } = {}) => {
    const limit = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const response = await outboundFetch(`${base}${path}`, {
        method,
        headers: {
          'user-agent': 'spanscore',
          ...headers,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'manual',
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      });
      const text = await response.text();
      const isThere = response.status !== 404 || mayMiss?.(text) !== true;
      if (isThere && !response.ok) {
        const after = { 'retry-after': response.headers.get('retry-after') ?? undefined };
        const shown = text.replaceAll(/\s+/gu, ' ').slice(0, SHOWN_CHARS).toWellFormed();
        throw unread(`${name} answered HTTP ${response.status}: ${shown}`, {
          retryAfterMs: retryAfterMs(after, Date.now()),
        });
      }
      const read = form.safeParse(isThere ? parseExact(text) : {});
      if (!read.success) {
        throw unread(`${name} gave a reply of an unknown form: ${z.prettifyError(read.error)}`);
      }
      return read.data;
    } catch (cause) {
      throw cause instanceof AppError
        ? cause
        : unread(`${name} could not be read: ${readErrorMessage(cause)}`, { cause });
    }
  };
}

/** Creates the error of a source that cannot be read now. */
export function unread(
  message: string,
  options: { cause?: unknown; retryAfterMs?: number | undefined } = {},
): AppError {
  return new AppError(message, { code: 'delivery_failed', stage: 'receive', retryable: true, ...options });
}

/** Parses JSON. Integers that a number cannot hold, such as times in nanoseconds, stay texts; members without a value are left out. */
export function parseExact(text: string): unknown {
  const revive = (_key: string, value: unknown, context?: { readonly source?: string }) => {
    if (value === null) {
      return undefined;
    }
    const isLarge = typeof value === 'number' && !Number.isSafeInteger(value);
    return isLarge && /^-?\d+$/u.test(context?.source ?? '') ? context?.source : value;
  };
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown);
}

/** Builds an OTLP export request of spans with one resource. */
export function buildRequest(spans: readonly object[], service: string): object {
  const resource = { attributes: { 'service.name': service } };
  return { resourceSpans: [{ resource, scopeSpans: [{ scope: {}, spans }] }] };
}
