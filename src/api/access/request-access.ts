import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import {
  createTokenBook,
  type AccessToken,
  type Grant,
  type Refusal,
  type Scope,
} from '../../config/access.ts';
import { SECOND_MS } from '../../domain/durations.ts';
import { sha256 } from '../../domain/identity.ts';
import { buildCookie, readCookie, SIGN_IN_MS } from './session-cookie.ts';

/** Proof of a sender: none is needed without tokens. */
export type Proof = 'none' | 'bearer' | 'cookie';

/** Sender of an accepted request. */
export interface Sender extends Grant {
  readonly proof: Proof;
  /** End of the sign-in, Unix milliseconds; null for another proof. */
  readonly expiresAtMs: number | null;
}

/** Access to the API: bearer tokens, and cookies of browsers that have signed in. */
export interface RequestAccess {
  /** True without tokens. */
  readonly isOpen: boolean;
  check(c: Context, scope: Scope): Promise<Sender | Refusal>;
  /** Checks the token of a sign-in. */
  checkSignIn(token: string): Sender | Refusal;
  /** Gives the browser the cookie of a sign-in. */
  signIn(c: Context, token: string, sender: Sender): Promise<void>;
  /** Ends the sign-in of the browser. */
  signOut(c: Context): void;
}

export interface RequestAccessOptions {
  readonly tokens: readonly AccessToken[];
  readonly scheme: 'http' | 'https';
  /** Reads the key of cookies, which all processes on one store share. */
  readonly readCookieKey: () => Promise<string>;
}

const COOKIE = 'spanscore';

/** Scope that a sign-in needs: every page of the dashboard reads. */
const SIGN_IN_SCOPE: Scope = 'read';

const SIGN_IN_ENDED = 'the sign-in has ended: sign in again';

/** Values of `Sec-Fetch-Site` of a request by our own page, and by a person. */
const OWN_SITES = ['same-origin', 'none'];

/** Creates the access to an API. */
export function createRequestAccess({ tokens, scheme, readCookieKey }: RequestAccessOptions): RequestAccess {
  const book = createTokenBook(tokens);
  const cookieTerms = {
    path: '/',
    httpOnly: true,
    sameSite: 'Strict',
    ...(scheme === 'https' ? ({ prefix: 'host', secure: true } as const) : {}),
  } as const;

  async function checkCookie(c: Context, value: string, scope: Scope): Promise<Sender | Refusal> {
    const site = c.req.header('sec-fetch-site');
    if (!OWN_SITES.includes(site ?? '')) {
      return {
        status: 403,
        message: `a sign-in works in the dashboard only: "sec-fetch-site" is ${JSON.stringify(site ?? '')}; send a bearer token`,
      };
    }
    const cookie = readCookie(await readCookieKey(), value, Date.now());
    if (cookie === undefined) {
      return { status: 401, message: SIGN_IN_ENDED };
    }
    const access = book.checkProof((digest) => cookie.isOf(digest), scope, SIGN_IN_ENDED);
    return 'status' in access ? access : { ...access, proof: 'cookie', expiresAtMs: cookie.expiresAtMs };
  }

  return {
    isOpen: book.isOpen,
    async check(c, scope) {
      const authorization = c.req.header('authorization');
      const cookie = getCookie(c, COOKIE, cookieTerms.prefix);
      if (authorization === undefined && cookie !== undefined && !book.isOpen) {
        return checkCookie(c, cookie, scope);
      }
      const access = book.check(authorization, scope);
      return 'status' in access
        ? access
        : { ...access, proof: book.isOpen ? 'none' : 'bearer', expiresAtMs: null };
    },
    checkSignIn(token) {
      const access = book.check(`Bearer ${token}`, SIGN_IN_SCOPE);
      return 'status' in access
        ? access
        : { ...access, proof: 'cookie', expiresAtMs: Date.now() + SIGN_IN_MS };
    },
    async signIn(c, token, { expiresAtMs }) {
      const value = buildCookie(await readCookieKey(), sha256(token), expiresAtMs ?? 0);
      setCookie(c, COOKIE, value, { ...cookieTerms, maxAge: SIGN_IN_MS / SECOND_MS });
    },
    signOut: (c) => setCookie(c, COOKIE, '', { ...cookieTerms, maxAge: 0 }),
  };
}
