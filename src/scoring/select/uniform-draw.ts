import { createHash } from 'node:crypto';

/** Must never change: the stored inclusion probabilities are those of this draw. */
const DRAW_DOMAIN = 'spanscore:sampling:v1\0';

/**
 * Draws the random number of a trace, in [0, 1): the top 53 bits of a domain-separated SHA-256 of its id. The bits of the id
 * itself are not used, because a sampler upstream may have used them. The number is the same for every scorer, so that a smaller
 * sample is a part of a larger one.
 */
export function drawUniform(traceId: string): number {
  const digest = createHash('sha256').update(DRAW_DOMAIN).update(traceId.toLowerCase()).digest();
  return Number(digest.readBigUInt64BE(0) >> 11n) / 2 ** 53;
}
