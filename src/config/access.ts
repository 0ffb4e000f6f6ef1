import { createHash, timingSafeEqual } from 'node:crypto';

/** Scope of a token: send spans; read stored rows; change things (and read). */
export type Scope = 'ingest' | 'read' | 'admin';

export interface AccessToken {
  /** Whose it is; may be told and logged, unlike the token. */
  readonly name: string;
  readonly token: string;
  readonly tenant: string;
  readonly scopes: readonly Scope[];
}

/** Access of a request: its tenant (undefined without tokens: all tenants), or the reason of the refusal. */
export type Access =
  | { readonly tenant: string | undefined }
  | { readonly status: 401 | 403; readonly message: string };

/** Looks at the value of a request's `Authorization` header. */
export type CheckAccess = (authorization: string | undefined, scope: Scope) => Access;

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * Lets in whoever brings one of these bearer tokens with the wanted scope; everybody when there are none. All tokens are
 * compared, each in constant time, so that the time tells nothing about them.
 */
export function createAccessCheck(tokens: readonly AccessToken[]): CheckAccess {
  const known = tokens.map((entry) => ({ ...entry, digest: digest(entry.token) }));
  if (known.length === 0) {
    return () => ({ tenant: undefined });
  }
  return (authorization, scope) => {
    const brought = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    if (brought === undefined) {
      return {
        status: 401,
        message: 'a bearer token is needed: send the header "authorization: Bearer <token>"',
      };
    }
    const broughtDigest = digest(brought);
    const matching = known.filter((entry) => timingSafeEqual(entry.digest, broughtDigest));
    const allowed = matching.find(({ scopes }) => allows(scopes, scope));
    if (allowed !== undefined) {
      return { tenant: allowed.tenant };
    }
    return matching.length === 0
      ? { status: 401, message: 'the bearer token is not known' }
      : { status: 403, message: `the bearer token ${matching[0]?.name} lacks the scope ${scope}` };
  };
}

function allows(scopes: readonly Scope[], wanted: Scope): boolean {
  return scopes.includes(wanted) || (wanted === 'read' && scopes.includes('admin'));
}
