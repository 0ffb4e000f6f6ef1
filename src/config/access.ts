import { timingSafeEqual } from 'node:crypto';
import { sha256 } from '../domain/identity.ts';

/** Scope of a token: send spans; read stored rows; change things (and read). */
export type Scope = 'ingest' | 'read' | 'admin';

export interface AccessToken {
  /** Name of the owner. Unlike the token, it may be printed and logged. */
  readonly name: string;
  readonly token: string;
  readonly tenant: string;
  readonly scopes: readonly Scope[];
}

/** Access of a request: its tenant (undefined without tokens: all tenants), or the reason of the refusal. */
export type Access =
  | { readonly tenant: string | undefined }
  | { readonly status: 401 | 403; readonly message: string };

/** Checks the value of the `Authorization` header of a request. */
export type CheckAccess = (authorization: string | undefined, scope: Scope) => Access;

/**
 * Creates a check that accepts requests with one of these bearer tokens and the required scope. Without tokens it accepts
 * every request. The check compares all tokens, each in constant time, so that its duration reveals nothing about them.
 */
export function createAccessCheck(tokens: readonly AccessToken[]): CheckAccess {
  const known = tokens.map((entry) => ({ ...entry, digest: sha256(entry.token) }));
  if (known.length === 0) {
    return () => ({ tenant: undefined });
  }
  return (authorization, scope) => {
    const sent = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    if (sent === undefined) {
      return {
        status: 401,
        message: 'a bearer token is required: send the header "authorization: Bearer <token>"',
      };
    }
    const sentDigest = sha256(sent);
    const matching = known.filter((entry) => timingSafeEqual(entry.digest, sentDigest));
    const allowed = matching.find(({ scopes }) => allows(scopes, scope));
    if (allowed !== undefined) {
      return { tenant: allowed.tenant };
    }
    return matching.length === 0
      ? { status: 401, message: 'the bearer token is unknown; use a token of auth.tokens' }
      : { status: 403, message: `the bearer token ${matching[0]?.name} lacks the scope ${scope}` };
  };
}

function allows(scopes: readonly Scope[], required: Scope): boolean {
  return scopes.includes(required) || (required === 'read' && scopes.includes('admin'));
}
