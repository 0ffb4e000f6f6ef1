import type { RequestAccess, Sender } from './access/request-access.ts';
import { createApiRoutes, PREFIX } from './api.ts';
import { createRouter } from './router.ts';
import { createTenantStores, type TenantStoreParts } from './tenant-store.ts';

/** Values of the parameters of a request; undefined and null ones are left out. */
type Query = Readonly<Record<string, string | number | readonly string[] | null | undefined>>;

/** API of a process for itself: the routes of the HTTP API without a socket, and so without hosts, tokens and limits of requests. */
export type LocalApi = Awaited<ReturnType<typeof createLocalApi>>;

/** Origin of the URLs of requests, which no route reads. */
const ORIGIN = 'http://in-process';

/** Most items of a page. */
const PAGE = 500;

/**
 * Creates the API for the local owner, who sees all tenants. Each request throws the error of its handler.
 * @param name name of the sender in the audit
 */
export async function createLocalApi(parts: TenantStoreParts, name: string) {
  const findStore = await createTenantStores(parts);
  const api = createRouter();
  const failures = new WeakMap<Request, Error>();
  api.onError((error, c) => {
    failures.set(c.req.raw, error);
    return c.body(null, 500);
  });
  api.use(async (c, next) => {
    c.set('access', accessOf(name));
    c.set('rate', { take: () => 0 });
    c.set('findStore', findStore);
    await next();
  });
  api.route(PREFIX, createApiRoutes());

  async function send<Body>(method: string, path: string, query: Query, body?: object): Promise<Body> {
    const url = new URL(`${ORIGIN}${PREFIX}${path}`);
    for (const [key, value] of Object.entries(query)) {
      [value ?? []].flat().forEach((each) => url.searchParams.append(key, String(each)));
    }
    const json = { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const request = new Request(url, { method, ...(body === undefined ? {} : json) });
    const response = await api.fetch(request);
    if (!response.ok) {
      throw failures.get(request) ?? new TypeError(`${method} ${path} was answered with ${response.status}`);
    }
    return (await response.json()) as Body;
  }

  return {
    read: <Body>(path: string, query: Query = {}) => send<Body>('GET', path, query),
    write: <Body>(
      method: 'POST' | 'DELETE',
      path: string,
      { query = {}, body }: { readonly query?: Query; readonly body?: object } = {},
    ) => send<Body>(method, path, query, body),
    /** Reads the first items of a list page by page. Default: all. */
    async *list<Item>(
      path: string,
      query: Query = {},
      most = Number.POSITIVE_INFINITY,
    ): AsyncGenerator<Item> {
      let cursor: string | null | undefined;
      for (let left = most; left > 0 && cursor !== null;) {
        const limit = Math.min(PAGE, left);
        const page: { readonly items: readonly Item[]; readonly next: string | null } = await send(
          'GET',
          path,
          { limit, ...query, cursor },
        );
        yield* page.items;
        left -= page.items.length;
        cursor = page.next;
      }
    },
  };
}

/** Returns the access of the local owner. */
function accessOf(name: string): RequestAccess {
  const owner: Sender = {
    name,
    tenant: undefined,
    scopes: ['read', 'label', 'admin'],
    foreignNames: [],
    proof: 'none',
    expiresAtMs: null,
    signInId: '',
  };
  return {
    isOpen: true,
    check: async () => owner,
    checkSignIn: () => owner,
    signIn: async () => undefined,
    signOut: () => undefined,
  };
}
