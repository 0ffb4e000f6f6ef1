import type { MiddlewareHandler } from 'hono';
import { hashBytes } from '../../domain/identity.ts';
import type { ApiEnv } from '../api-env.ts';

/**
 * Adds an `ETag` to JSON replies of reads, and answers 304 without a body to a client that has the same reply. The client has to ask each
 * time: a reply may change at once.
 */
export const answerUnchanged: MiddlewareHandler<ApiEnv> = async (c, next) => {
  await next();
  const isJson = c.res.headers.get('content-type')?.startsWith('application/json') ?? false;
  if (!['GET', 'HEAD'].includes(c.req.method) || c.res.status !== 200 || !isJson) {
    return;
  }
  const body = await c.res.arrayBuffer();
  const etag = `"${hashBytes(new Uint8Array(body))}"`;
  const headers = new Headers(c.res.headers);
  headers.set('etag', etag);
  headers.set('cache-control', 'private, no-cache');
  const known = listTags(c.req.header('if-none-match'));
  const isKnown = known.includes(etag) || known.includes(ANY_TAG);
  if (isKnown) {
    headers.delete('content-type');
    headers.delete('content-length');
  }
  c.res = undefined;
  c.res = isKnown ? new Response(null, { status: 304, headers }) : new Response(body, { headers });
};

/** Tag of `If-None-Match` that stands for every reply. */
const ANY_TAG = '*';

/** Lists the tags of `If-None-Match`; a weak one stands for the same reply. */
function listTags(header = ''): string[] {
  return header.split(',').map((tag) => tag.trim().replace(/^W\//u, ''));
}
