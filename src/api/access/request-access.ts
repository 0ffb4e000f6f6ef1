import { randomUUID, createHmac, timingSafeEqual } from 'node:crypto';
import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { HTTPException } from 'hono/http-exception';
import {
  createTokenBook,
  type AccessToken,
  type Grant,
  type Refusal,
  type Scope,
} from '../../config/access.ts';
import { SECOND_MS } from '../../domain/durations.ts';
import { sha256 } from '../../domain/identity.ts';
import { OWN_SITES, siteOf, type RequestSite } from './request-site.ts';

/** Time for which a sign-in is valid, milliseconds. */
const SIGN_IN_MS = 12 * 60 * 60_000;

const FORMAT = '2';

/** Proof of a sender: none is needed without tokens. */
export type Proof = 'none' | 'bearer' | 'cookie';

export interface Sender extends Grant {
  readonly proof: Proof;
  /** End of the sign-in, Unix milliseconds; null for another proof. */
  readonly expiresAtMs: number | null;
  /** Id of the sign-in; '' for another proof. */
  readonly signInId: string;
}

/** Sender of a request, by its token. */
export interface Caller extends Pick<Sender, 'name'> {
  /** The only tenant whose rows the caller may read or change; undefined without tokens, and for a token of no tenant: all tenants. */
  readonly tenant: string | undefined;
}

/** Access to the API: bearer tokens, and cookies of browsers that have signed in. */
export type RequestAccess = ReturnType<typeof createRequestAccess>;

export interface SignIns {
  readKey(): Promise<string>;
  /** True for the id of a sign-in that ended with a sign-out. */
  hasEnded(id: string): Promise<boolean>;
}

export interface RequestAccessOptions {
  readonly tokens: readonly AccessToken[];
  readonly signIns: SignIns;
  /** Called with the address of each sender whose token is unknown. */
  readonly onWrongToken: (address: string, proof: 'bearer' | 'sign-in') => void;
}

const COOKIE = 'spanscore';

/** Scope that a sign-in needs: every page of the dashboard reads. */
const SIGN_IN_SCOPE: Scope = 'read';

const SIGN_IN_ENDED = 'the sign-in has ended: sign in again';

/** Returns the terms of the cookie: only the site of the request gets it. */
function cookieTerms({ isSecure, basePath }: RequestSite) {
  const shared = { path: basePath === '' ? '/' : basePath, httpOnly: true, sameSite: 'Strict' } as const;
  return isSecure
    ? ({ ...shared, prefix: basePath === '' ? 'host' : 'secure', secure: true } as const)
    : shared;
}

/** Returns the cookie of a request, under the name that its site has. */
function findCookie(c: Context): string | undefined {
  const terms = cookieTerms(siteOf(c));
  return getCookie(c, COOKIE, 'prefix' in terms ? terms.prefix : undefined);
}

/** Refuses an author whose name another token has: a label in that name would replace one of its owner. */
export function checkAuthor({ name, foreignNames }: Sender, author = name): void {
  if (foreignNames.some((other) => foldName(other) === foldName(author))) {
    const message = `the bearer token ${name} lacks the scope admin, which a score in the name of the token ${author} needs`;
    throw new HTTPException(403, { message });
  }
}

function foldName(name: string): string {
  return name.normalize('NFKC').trim().toLowerCase();
}

export function createRequestAccess({ tokens, signIns, onWrongToken }: RequestAccessOptions) {
  const book = createTokenBook(tokens);

  async function checkCookie(c: Context, value: string, scope: Scope): Promise<Sender | Refusal> {
    const site = c.req.header('sec-fetch-site');
    if (!OWN_SITES.includes(site ?? '')) {
      return {
        status: 403,
        message: `a sign-in works in the dashboard only: "sec-fetch-site" is ${JSON.stringify(site ?? '')}; send a bearer token`,
      };
    }
    const cookie = readCookie(await signIns.readKey(), value, Date.now());
    if (cookie === undefined) {
      return { status: 401, message: SIGN_IN_ENDED };
    }
    const { id, expiresAtMs } = cookie;
    const access = book.checkProof((digest) => cookie.isOf(digest), scope, SIGN_IN_ENDED);
    if ('status' in access) {
      return access;
    }
    return (await signIns.hasEnded(id))
      ? { status: 401, message: SIGN_IN_ENDED }
      : { ...access, proof: 'cookie', expiresAtMs, signInId: id };
  }

  return {
    /** True without tokens. */
    isOpen: book.isOpen,
    async check(c: Context, scope: Scope): Promise<Sender | Refusal> {
      const authorization = c.req.header('authorization');
      const cookie = findCookie(c);
      if (authorization === undefined && cookie !== undefined && !book.isOpen) {
        return checkCookie(c, cookie, scope);
      }
      const access = book.check(authorization, scope);
      if ('status' in access && access.status === 401 && authorization !== undefined) {
        onWrongToken(siteOf(c).address, 'bearer');
      }
      return 'status' in access
        ? access
        : { ...access, proof: book.isOpen ? 'none' : 'bearer', expiresAtMs: null, signInId: '' };
    },
    checkSignIn(c: Context, token: string): Sender | Refusal {
      const access = book.check(`Bearer ${token}`, SIGN_IN_SCOPE);
      if ('status' in access && access.status === 401) {
        onWrongToken(siteOf(c).address, 'sign-in');
      }
      return 'status' in access
        ? access
        : { ...access, proof: 'cookie', expiresAtMs: Date.now() + SIGN_IN_MS, signInId: randomUUID() };
    },
    /** Gives the browser the cookie of a sign-in. */
    async signIn(c: Context, token: string, { expiresAtMs, signInId }: Sender): Promise<void> {
      const terms = { digest: sha256(token), id: signInId, expiresAtMs: expiresAtMs ?? 0 };
      const value = buildCookie(await signIns.readKey(), terms);
      setCookie(c, COOKIE, value, { ...cookieTerms(siteOf(c)), maxAge: SIGN_IN_MS / SECOND_MS });
    },
    signOut: (c: Context): void => setCookie(c, COOKIE, '', { ...cookieTerms(siteOf(c)), maxAge: 0 }),
  };
}

/** A sign-in, as its cookie proves it. */
interface SignInTerms {
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

/**
 * Reads the value of a cookie. Returns undefined for another format, and for a cookie that has ended. Whose it is has to be proved: `isOf`
 * is true for the digest of the token that it was made with.
 */
export function readCookie(key: string, value: string, nowMs: number) {
  const [, head = '', format, end, id = '', signature = ''] =
    /^((\d+)\.(\d{1,12})\.([\da-f-]{36}))\.([\w-]{43})$/u.exec(value) ?? [];
  const expiresAtMs = Number(end) * SECOND_MS;
  if (format !== FORMAT || expiresAtMs <= nowMs) {
    return undefined;
  }
  const sent = Buffer.from(signature, 'base64url');
  return { id, expiresAtMs, isOf: (digest: Buffer) => timingSafeEqual(sign(key, head, digest), sent) };
}

function sign(key: string, head: string, digest: Buffer): Buffer {
  return createHmac('sha256', key)
    .update(`spanscore session ${head} ${digest.toString('hex')}`)
    .digest();
}
