import { createRouter, type ApiRouter } from './router.ts';
import { html, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

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

type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** Builds the page of all routes: plain HTML, without scripts and styles. */
export function buildDocsPage({ info, paths }: OpenApiDocument): Html {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      showOperation(`${method.toUpperCase()} ${path}`, operation),
    ),
  );
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>HTTP API of ${info.title}</title>
      </head>
      <body>
        <main>
          <h1>HTTP API of ${info.title}</h1>
          <p>${info.description ?? ''}</p>
          <p><a href="./api/v1/openapi.json">OpenAPI document</a></p>
          ${operations}
        </main>
      </body>
    </html>`;
}

function showOperation(title: string, operation: OpenApiOperation): Html {
  const scope = [...new Set(operation.security?.flatMap((each) => Object.values(each).flat()))].join(', ');
  return html`<section>
    <h2><code>${title}</code></h2>
    <p>${operation.summary ?? ''}${scope === '' ? '' : ` Scope of the token: ${scope}.`}</p>
    ${showParameters(operation)} ${showBody(operation)}
    <table>
      <caption>
        Replies
      </caption>
      <tbody>
        ${Object.entries(operation.responses).map(
          ([status, { description }]) =>
            html`<tr>
              <th scope="row">${status}</th>
              <td>${description}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`;
}

function showParameters({ parameters = [] }: OpenApiOperation): Html {
  if (parameters.length === 0) {
    return raw('');
  }
  return html`<table>
    <caption>
      Parameters
    </caption>
    <tbody>
      ${parameters.map(
        ({ name, in: place, required = false, description = '', schema }) =>
          html`<tr>
            <th scope="row"><code>${name}</code></th>
            <td>${place}${required ? ', required' : ''}</td>
            <td>${description}</td>
            <td><code>${JSON.stringify(schema ?? {})}</code></td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function showBody({ requestBody }: OpenApiOperation): Html {
  const schema = requestBody?.content['application/json']?.schema;
  return schema === undefined ? raw('') : html`<p>Body: <code>${JSON.stringify(schema)}</code></p>`;
}
