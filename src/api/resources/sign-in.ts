import { createRoute, z } from '@hono/zod-openapi';
import { SCOPES } from '../../config/access.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import type { Sender } from '../access/request-access.ts';
import { NoQuery } from '../lists/fields.ts';
import {
  describeRoute,
  answerRefusal,
  answerTooMany,
  createRouter,
  describeBody,
  describeJson,
  identifyCaller,
  tenantStore,
  PROBLEMS,
} from '../router.ts';
import { isoTime, Time } from '../json/rows.ts';
import { isIPv6 } from 'node:net';

/** Wrong tokens of an address before it has to wait. */
const FREE_FAILURES = 5;

/** First wait after these failures, milliseconds. It doubles with each further failure. */
const FIRST_WAIT_MS = 1_000;

/** Longest wait, milliseconds. */
const MAX_WAIT_MS = 60_000;

/** Time without a failure after which an address begins anew, milliseconds. */
const FORGET_AFTER_MS = 15 * 60_000;

/** Most addresses in memory. The address whose last failure is the oldest is forgotten first. */
const MAX_ADDRESSES = 1_000;

/** Groups of an IPv6 address that name a network: one person has all addresses of it. */
const NETWORK_GROUPS = 4;

export const SignIn = z
  .object({
    token: z.string().nullable().describe('Name of the token; null without tokens.'),
    tenant: z.string().nullable().describe('The only tenant that is shown; null for all tenants.'),
    scopes: z.array(z.enum(SCOPES)),
    proof: z.enum(['none', 'bearer', 'cookie']).describe('`none`: nobody needs a token.'),
    expiresAt: Time.nullable().describe('End of the sign-in; null for another proof.'),
  })
  .openapi('SignIn');

const readSession = describeRoute('get', '/session', {
  tag: 'session',
  summary: 'Token, tenant and scopes of the sender.',
  request: { query: NoQuery },
  replies: { 200: describeJson('The sender.', SignIn) },
});

const signIn = createRoute({
  method: 'post',
  path: '/session',
  tags: ['session'],
  summary: 'Signs a browser in with a token: the cookie of the reply is a proof for 12 hours.',
  request: { query: NoQuery, body: describeBody(z.strictObject({ token: z.string().min(1).max(10_000) })) },
  responses: { 201: describeJson('The sender.', SignIn), ...PROBLEMS },
});

const signOut = describeRoute('delete', '/session', {
  scopes: ['read'],
  tag: 'session',
  summary: 'Signs a browser out: its cookie is removed, and no process takes it again.',
  request: { query: NoQuery },
  replies: { 204: { description: 'The cookie is removed.' } },
});

export function createSignInRoutes() {
  const brake = createSignInBrake(() => performance.now());
  return createRouter()
    .openapi(readSession, (c) => c.json(sessionJson(c.var.sender), 200))
    .openapi(signIn, async (c) => {
      const { access, site } = c.var;
      if (access.isOpen) {
        throw new InvalidInputError('nobody needs a sign-in: auth.tokens has no token');
      }
      const { token } = c.req.valid('json');
      const sender = access.checkSignIn(c, token);
      if ('status' in sender) {
        const waitMs = sender.status === 401 ? brake.fail(site.address) : 0;
        return (
          waitMs > 0
            ? answerTooMany(c, 'too many sign-ins had a wrong token; check it, and wait', waitMs)
            : answerRefusal(c, sender)
        ) as never;
      }
      const store = tenantStore({ ...c.var, caller: identifyCaller(sender) });
      await store.openWrites('session.begin');
      await access.signIn(c, token, sender);
      c.header('cache-control', 'no-store');
      return c.json(sessionJson(sender), 201);
    })
    .openapi(signOut, async (c) => {
      const { signInId: id } = c.var.sender;
      const subjects = id === '' ? [] : [{ kind: 'sign-in' as const, id }];
      // The row of the audit ends the sign-in, for every process on the store.
      await tenantStore(c.var).openWrites('session.end', ...subjects);
      c.var.access.signOut(c);
      return c.body(null, 204);
    });
}

function sessionJson(sender: Sender): z.infer<typeof SignIn> {
  const { name, scopes, proof, expiresAtMs } = sender;
  return {
    token: proof === 'none' ? null : name,
    tenant: identifyCaller(sender).tenant ?? null,
    scopes: [...scopes],
    proof,
    expiresAt: isoTime(expiresAtMs),
  };
}

interface Failures {
  readonly count: number;
  readonly atMs: number;
}

/**
 * Creates a brake of sign-ins with wrong tokens. The wait of an address with many failures doubles with each further one. It never keeps
 * the right token out: people behind one proxy may share an address.
 * @param nowMs clock that never goes back, milliseconds
 */
export function createSignInBrake(nowMs: () => number) {
  const byNetwork = new Map<string, Failures>();
  return {
    /** Counts a wrong token. Returns the time for which the address should wait, milliseconds; 0 for none. */
    fail(address: string): number {
      const network = findNetwork(address);
      const former = byNetwork.get(network);
      const isRecent = former !== undefined && nowMs() - former.atMs <= FORGET_AFTER_MS;
      const count = (isRecent ? former.count : 0) + 1;
      byNetwork.delete(network);
      byNetwork.set(network, { count, atMs: nowMs() });
      const [oldest] = byNetwork.keys();
      if (byNetwork.size > MAX_ADDRESSES && oldest !== undefined) {
        byNetwork.delete(oldest);
      }
      const above = count - FREE_FAILURES - 1;
      return above < 0 ? 0 : Math.min(FIRST_WAIT_MS * 2 ** Math.min(above, 20), MAX_WAIT_MS);
    },
  };
}

/** Returns the network of an IPv6 address; any other address as it is. */
function findNetwork(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) {
    return address;
  }
  const [head = '', tail] = address.split('::');
  const groups = head.split(':');
  const missing = tail === undefined ? [] : Array.from({ length: NETWORK_GROUPS }, () => '0');
  return [...groups, ...missing].slice(0, NETWORK_GROUPS).join(':');
}
