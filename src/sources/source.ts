import { z } from 'zod';
import { AppError, readErrorMessage } from '../domain/errors.ts';
import { askTool, showReply } from '../delivery/http/ask-tool.ts';

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
    try {
      const request = { method, headers, body, signal, timeoutMs: TIMEOUT_MS };
      const reply = await askTool(`${base}${path}`, request);
      const { status, text } = reply;
      const isThere = status !== 404 || mayMiss?.(text) !== true;
      if (isThere && (status < 200 || status >= 300)) {
        throw unread(`${name} answered HTTP ${status}: ${showReply(reply)}`, reply);
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
  { cause, retryAfterMs }: { cause?: unknown; retryAfterMs?: number | undefined } = {},
): AppError {
  const more = { ...(cause === undefined ? {} : { cause }), retryAfterMs };
  return new AppError(message, { code: 'delivery_failed', stage: 'receive', retryable: true, ...more });
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
