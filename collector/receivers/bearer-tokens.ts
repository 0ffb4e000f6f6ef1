import { createHash, timingSafeEqual } from 'node:crypto';
import type { Authenticate } from './receiver.ts';

/** A token that may send: whose it is, and whose rows come of it. */
export interface IngestToken {
  readonly token: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * Lets in whoever brings one of these bearer tokens with the scope `ingest`; everybody, as tenant '', when there are none.
 * All tokens are compared, each in constant time, so that the time tells nothing about them.
 */
export function bearerTokens(tokens: readonly IngestToken[]): Authenticate {
  const known = tokens.map((entry) => ({ ...entry, digest: digest(entry.token) }));
  if (known.length === 0) {
    return () => ({ tenant: '' });
  }
  return (headers) => {
    const brought = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
    if (brought === undefined) {
      return {
        status: 401,
        message: 'a bearer token is needed: send the header "authorization: Bearer <token>"',
      };
    }
    const broughtDigest = digest(brought);
    const matching = known.filter((entry) => timingSafeEqual(entry.digest, broughtDigest));
    const sender = matching.find((entry) => entry.scopes.includes('ingest'));
    if (sender !== undefined) {
      return { tenant: sender.tenant };
    }
    return matching.length === 0
      ? { status: 401, message: 'the bearer token is not known' }
      : { status: 403, message: 'the bearer token may not send spans: it lacks the scope ingest' };
  };
}
