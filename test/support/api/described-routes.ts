import type { z } from 'zod';
import { createApiRoutes, PREFIX } from '../../../src/api/api.ts';
import { buildOpenApi, type OpenApiOperation } from '../../../src/api/openapi.ts';

/** Route of the OpenAPI document. */
export interface DescribedRoute {
  /** `get`, `post`, … */
  readonly method: string;
  /** Without the prefix of the API. */
  readonly path: string;
  /** `get /scores`. */
  readonly name: string;
  readonly operation: OpenApiOperation;
}

const api = createApiRoutes();

/** OpenAPI document of the API. */
export const OPENAPI = buildOpenApi(PREFIX, api);

/** All routes of the document. */
export const ROUTES: readonly DescribedRoute[] = Object.entries(OPENAPI.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    method,
    path: path.slice(PREFIX.length),
    name: `${method} ${path.slice(PREFIX.length)}`,
    operation,
  })),
);

/** Returns the scope of a token that may ask a route: an admin may all but what only senders of spans do. */
export function scopeOf({ operation: { security = [] } }: DescribedRoute): 'admin' | 'ingest' {
  const scopes = security.flatMap((each) => Object.values(each).flat());
  return scopes.length > 0 && scopes.every((scope) => scope === 'ingest') ? 'ingest' : 'admin';
}

/** Returns true for a route whose reply is a stream of events, which tests of their own read. */
export function isStream({ operation: { responses } }: DescribedRoute): boolean {
  return responses['200']?.content?.['text/event-stream'] !== undefined;
}

/** Paths of the lists that have pages. */
export const LIST_PATHS: readonly string[] = ROUTES.filter(({ operation: { parameters = [] } }) =>
  parameters.some(({ name }) => name === 'cursor'),
).map(({ path }) => path);

interface Described {
  readonly method: string;
  readonly path: string;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: z.ZodType }>> }>
  >;
}

/** Returns the schema of the body of a reply; undefined for a reply without one. Throws for a reply that is not documented. */
export function findReplySchema({ name }: DescribedRoute, status: number): z.ZodType | undefined {
  const routes = api.openAPIRegistry.definitions.flatMap((each) =>
    each.type === 'route' ? [each.route as unknown as Described] : [],
  );
  const reply = routes.find(({ method, path }) => `${method} ${path}` === name)?.responses[status];
  if (reply === undefined) {
    throw new Error(`${name} does not document the status ${status}`);
  }
  return Object.values(reply.content ?? {})[0]?.schema;
}
