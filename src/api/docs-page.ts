import { html, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { OpenApiDocument, OpenApiOperation } from './openapi.ts';

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
