import { createHmac, timingSafeEqual } from 'node:crypto';
import { SECOND_MS } from '../../domain/durations.ts';

/** Time for which a sign-in is valid, milliseconds. */
export const SIGN_IN_MS = 12 * 60 * 60_000;

/** Version of the format of a cookie. */
const FORMAT = '1';

/** A cookie that was sent: whose it is has to be proved. */
export interface SentCookie {
  readonly expiresAtMs: number;
  /** Returns true for the digest of the token that the cookie was made with. */
  isOf(digest: Buffer): boolean;
}

/**
 * Builds the value of a cookie: the time of its end, and a signature of it and of the token's digest. It does not hold the token or
 * its digest.
 */
export function buildCookie(key: string, digest: Buffer, expiresAtMs: number): string {
  const expiresAt = Math.floor(expiresAtMs / SECOND_MS);
  return `${FORMAT}.${expiresAt}.${sign(key, digest, expiresAt).toString('base64url')}`;
}

/** Reads the value of a cookie. Returns undefined for another format, and for a cookie that has ended. */
export function readCookie(key: string, value: string, nowMs: number): SentCookie | undefined {
  const [format, end = '', signature = ''] = value.split('.');
  const expiresAt = Number(end);
  const isWellFormed = format === FORMAT && /^\d{1,12}$/u.test(end) && /^[\w-]{43}$/u.test(signature);
  if (!isWellFormed || expiresAt * SECOND_MS <= nowMs) {
    return undefined;
  }
  const sent = Buffer.from(signature, 'base64url');
  return {
    expiresAtMs: expiresAt * SECOND_MS,
    isOf: (digest) => timingSafeEqual(sign(key, digest, expiresAt), sent),
  };
}

function sign(key: string, digest: Buffer, expiresAt: number): Buffer {
  return createHmac('sha256', key)
    .update(`spanscore session ${FORMAT} ${expiresAt} ${digest.toString('hex')}`)
    .digest();
}
