import { createHmac, timingSafeEqual } from 'node:crypto';
import { SECOND_MS } from '../../domain/durations.ts';

/** Time for which a sign-in is valid, milliseconds. */
export const SIGN_IN_MS = 12 * 60 * 60_000;

/** Version of the format of a cookie. */
const FORMAT = '2';

/** A cookie that was sent: whose it is has to be proved. */
export interface SentCookie {
  /** Id of the sign-in. */
  readonly id: string;
  readonly expiresAtMs: number;
  /** Returns true for the digest of the token that the cookie was made with. */
  isOf(digest: Buffer): boolean;
}

/** A sign-in, as its cookie proves it. */
export interface SignInTerms {
  /** Digest of the token. */
  readonly digest: Buffer;
  readonly id: string;
  readonly expiresAtMs: number;
}

/**
 * Builds the value of a cookie: the time of its end, the id of the sign-in, and a signature of both and of the token's digest. It does
 * not hold the token or its digest.
 */
export function buildCookie(key: string, { digest, id, expiresAtMs }: SignInTerms): string {
  const head = `${FORMAT}.${Math.floor(expiresAtMs / SECOND_MS)}.${id}`;
  return `${head}.${sign(key, head, digest).toString('base64url')}`;
}

/** Reads the value of a cookie. Returns undefined for another format, and for a cookie that has ended. */
export function readCookie(key: string, value: string, nowMs: number): SentCookie | undefined {
  const [, head = '', format, end, id = '', signature = ''] =
    /^((\d+)\.(\d{1,12})\.([\da-f-]{36}))\.([\w-]{43})$/u.exec(value) ?? [];
  const expiresAtMs = Number(end) * SECOND_MS;
  if (format !== FORMAT || expiresAtMs <= nowMs) {
    return undefined;
  }
  const sent = Buffer.from(signature, 'base64url');
  return { id, expiresAtMs, isOf: (digest) => timingSafeEqual(sign(key, head, digest), sent) };
}

function sign(key: string, head: string, digest: Buffer): Buffer {
  return createHmac('sha256', key)
    .update(`spanscore session ${head} ${digest.toString('hex')}`)
    .digest();
}
