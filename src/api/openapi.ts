import { createRouter, type ApiRouter } from './router.ts';

/** Parts of an OpenAPI document that the page of the routes shows. */
export interface OpenApiDocument {
  readonly info: { readonly title: string; readonly description?: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
}

export interface OpenApiOperation {
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema?: object;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly content?: Readonly<Record<string, { readonly schema?: object }>>;
      }
    >
  >;
}

/** Builds the OpenAPI document (3.1) of routes under a prefix. */
export function buildOpenApi(prefix: string, routes: ApiRouter): OpenApiDocument {
  const api = createRouter();
  api.openAPIRegistry.registerComponent('securitySchemes', 'bearer', { type: 'http', scheme: 'bearer' });
  api.openAPIRegistry.registerComponent('securitySchemes', 'cookie', {
    type: 'apiKey',
    in: 'cookie',
    name: 'spanscore',
    description: 'Sign-in of a browser: `POST /session`. Under TLS, the name is `__Host-spanscore`.',
  });
  api.route(prefix, routes);
  return api.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'spanscore',
      version: '1',
      description:
        'Scores of production AI-agent traffic. Lists have the newest items first (monitors: by alert and series), with a cursor for the next page. Errors are problem documents (RFC 9457).',
    },
  }) as unknown as OpenApiDocument;
}
