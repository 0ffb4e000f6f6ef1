import { timingSafeEqual } from 'node:crypto';
import { sha256 } from '../domain/identity.ts';

/**
 * Scopes of a token: `ingest` sends spans, `read` reads stored rows, `label` stores labels of people, `admin` changes everything
 * else.
 */
export const SCOPES = ['ingest', 'read', 'label', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

export interface AccessToken {
  /** Name of the owner. Unlike the token, it may be printed and logged. */
  readonly name: string;
  readonly token: string;
  readonly tenant: string;
  readonly scopes: readonly Scope[];
}

export interface Grant {
  /** Name of the token; '' without tokens. */
  readonly name: string;
  /** Tenant of the token; undefined without tokens: all tenants. */
  readonly tenant: string | undefined;
  /** All scopes of the sender, with those that `admin` implies. */
  readonly scopes: readonly Scope[];
  /** Names in which the sender may not write: the names of other tokens on the same tenant. None with the scope `admin`. */
  readonly foreignNames: readonly string[];
}

export interface Refusal {
  readonly status: 401 | 403;
  readonly message: string;
}

type Access = Grant | Refusal;

/** Checks the value of the `Authorization` header of a request. */
export type CheckAccess = (authorization: string | undefined, scope: Scope) => Access;

const EVERYBODY: Grant = { name: '', tenant: undefined, scopes: SCOPES, foreignNames: [] };

const IMPLIED: Partial<Record<Scope, readonly Scope[]>> = { admin: ['read', 'label'] };

/**
 * Creates a book of tokens. A check compares all tokens, each in constant time, so that its duration reveals nothing about them.
 */
export function createTokenBook(tokens: readonly AccessToken[]) {
  const known = tokens.map(({ name, tenant, scopes, token }) => ({
    grant: {
      name,
      tenant,
      scopes: addImplied(scopes),
      foreignNames: scopes.includes('admin')
        ? []
        : tokens
            .filter((other) => other.name !== name && (tenant === '' || [tenant, ''].includes(other.tenant)))
            .map((other) => other.name),
    },
    digest: sha256(token),
  }));
  const isOpen = known.length === 0;
  /**
   * Checks a sender that proves its token by a test of the token's digest.
   * @param isProved called with the digest of every token
   * @param unknown message for a proof of no token
   */
  const checkProof = (isProved: (digest: Buffer) => boolean, scope: Scope, unknown: string): Access => {
    const matching = known.filter(({ digest }) => isProved(digest)).map(({ grant }) => grant);
    const allowed = isOpen ? EVERYBODY : matching.find(({ scopes }) => scopes.includes(scope));
    if (allowed !== undefined) {
      return allowed;
    }
    return matching.length === 0
      ? { status: 401, message: unknown }
      : { status: 403, message: `the bearer token ${matching[0]?.name} lacks the scope ${scope}` };
  };
  const check: CheckAccess = (authorization, scope) => {
    const sent = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    if (sent === undefined && !isOpen) {
      return {
        status: 401,
        message: 'a bearer token is required: send the header "authorization: Bearer <token>"',
      };
    }
    const sentDigest = sha256(sent ?? '');
    const unknown = 'the bearer token is unknown; use a token of auth.tokens';
    return checkProof((digest) => timingSafeEqual(digest, sentDigest), scope, unknown);
  };
  return {
    /** True without tokens: everybody has access. */
    isOpen,
    check,
    checkProof,
  };
}

/** Creates the check of requests whose only proof is a bearer token. */
export function createAccessCheck(tokens: readonly AccessToken[]): CheckAccess {
  return createTokenBook(tokens).check;
}

function addImplied(scopes: readonly Scope[]): Scope[] {
  const all = new Set(scopes.flatMap((scope) => [scope, ...(IMPLIED[scope] ?? [])]));
  return SCOPES.filter((scope) => all.has(scope));
}

/** Finds a token that reads the rows of all tenants. */
export function findReader(tokens: readonly AccessToken[]): AccessToken | undefined {
  return tokens.find(
    ({ tenant, scopes }) => tenant === '' && (scopes.includes('read') || scopes.includes('admin')),
  );
}
