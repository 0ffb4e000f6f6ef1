import { retryAfterMs } from './headers.ts';
import { outboundFetch } from './proxies.ts';

/** Most characters of a reply that an error shows. */
const SHOWN_CHARS = 300;

export interface ToolReply {
  readonly status: number;
  readonly text: string;
  /** Time that the tool asks to wait, milliseconds. */
  readonly retryAfterMs: number | undefined;
}

interface ToolRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
}

/** Sends a request to a tool. It follows no redirect, so that keys go to the tool alone. Throws when no reply comes in time. */
export async function askTool(
  url: string,
  { method, headers, body, signal, timeoutMs }: ToolRequest,
): Promise<ToolReply> {
  const limit = AbortSignal.timeout(timeoutMs);
  const response = await outboundFetch(url, {
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
  const after = { 'retry-after': response.headers.get('retry-after') ?? undefined };
  return {
    status: response.status,
    text: await response.text(),
    retryAfterMs: retryAfterMs(after, Date.now()),
  };
}

/** Builds the header with a bearer token; none without a token. */
export function bearerHeader(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

export function basicHeader(name: string, password: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` };
}

/** Returns the start of a reply in one line, for an error. */
export function showReply({ text }: ToolReply): string {
  return text.replaceAll(/\s+/gu, ' ').slice(0, SHOWN_CHARS).toWellFormed();
}
