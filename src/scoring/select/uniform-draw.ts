import { createHash } from 'node:crypto';

/** Never to change: with another domain every stored inclusion probability would be about another draw. */
const DRAW_DOMAIN = 'spanscore:sampling:v1\0';

/**
 * The one random number of a trace, in [0, 1): the top 53 bits of a domain-separated SHA-256 of its id. A hash, never the
 * id's own bits, so that it is independent of what a sampler upstream did with them; the same for every scorer, so that
 * samples nest.
 */
export function uniformDraw(traceId: string): number {
  const digest = createHash('sha256').update(DRAW_DOMAIN).update(traceId.toLowerCase()).digest();
  return Number(digest.readBigUInt64BE(0) >> 11n) / 2 ** 53;
}
