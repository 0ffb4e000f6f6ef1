import { createRoute, z } from '@hono/zod-openapi';
import { SCOPES } from '../../config/access.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import type { Sender } from '../access/request-access.ts';
import { createSignInBrake } from '../access/sign-in-brake.ts';
import { NoQuery } from '../lists/filters.ts';
import {
  answerRefusal,
  answerTooMany,
  createRouter,
  describeBody,
  describeJson,
  identifyCaller,
  PROBLEMS,
  tenantStore,
  secureRoute,
} from '../router.ts';
import { isoTime } from '../json/time-json.ts';
import { Time } from './series-schema.ts';

export const SignIn = z
  .object({
    token: z.string().nullable().describe('Name of the token; null without tokens.'),
    tenant: z.string().nullable().describe('The only tenant that is shown; null for all tenants.'),
    scopes: z.array(z.enum(SCOPES)),
    proof: z.enum(['none', 'bearer', 'cookie']).describe('`none`: nobody needs a token.'),
    expiresAt: Time.nullable().describe('End of the sign-in; null for another proof.'),
  })
  .openapi('SignIn');

const readSession = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/session',
  tags: ['session'],
  summary: 'Token, tenant and scopes of the sender.',
  request: { query: NoQuery },
  responses: { 200: describeJson('The sender.', SignIn), ...PROBLEMS },
});

const signIn = createRoute({
  method: 'post',
  path: '/session',
  tags: ['session'],
  summary: 'Signs a browser in with a token: the cookie of the reply is a proof for 12 hours.',
  request: { query: NoQuery, body: describeBody(z.strictObject({ token: z.string().min(1).max(10_000) })) },
  responses: { 201: describeJson('The sender.', SignIn), ...PROBLEMS },
});

const signOut = createRoute({
  ...secureRoute('read'),
  method: 'delete',
  path: '/session',
  tags: ['session'],
  summary: 'Signs a browser out: its cookie is removed, and no process takes it again.',
  request: { query: NoQuery },
  responses: { 204: { description: 'The cookie is removed.' }, ...PROBLEMS },
});

/** Creates the routes of the sign-in. */
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
      await store.openWrites({ action: 'session.begin', subjects: [] });
      await access.signIn(c, token, sender);
      c.header('cache-control', 'no-store');
      return c.json(sessionJson(sender), 201);
    })
    .openapi(signOut, async (c) => {
      const { signInId: id } = c.var.sender;
      const subjects = id === '' ? [] : [{ kind: 'sign-in', id } as const];
      // The row of the audit ends the sign-in, for every process on the store.
      await tenantStore(c.var).openWrites({ action: 'session.end', subjects });
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
