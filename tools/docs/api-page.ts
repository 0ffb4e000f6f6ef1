import type { OpenApiDocument, OpenApiOperation } from '../../src/api/openapi.ts';

const INTRODUCTION = `# HTTP API

\`spanscore serve\` answers on \`api.endpoint\` (default http://127.0.0.1:4320). Ask for the worst scores of the last day:

\`\`\`sh
curl 'http://127.0.0.1:4320/api/v1/scores?since=24h&order=score&limit=3'
\`\`\`

- **Access.** Tokens, scopes, tenants, limits and browsers: [access](api-access.md).
- **Format.** Names are in camelCase. Times are ISO 8601 in UTC with milliseconds; a time without a zone is read as UTC. Ids are lower-case hex.
- **Lists** answer \`{ "items": [...], "next": "<cursor>" }\`, newest first; monitors are in the order of alert and series.
  Send \`next\` as \`cursor\` for the next page; it is \`null\` after the
  last one. Rows that arrive meanwhile move nothing. \`limit\` is 1 to 500 (default 50).
- **Filters.** A repeated parameter means any of its values. \`since\` and \`until\` take an age (\`24h\`) or a date and time from 1970 to 2262. An unknown
  parameter is refused.
- **Errors** are problem documents (RFC 9457): \`application/problem+json\` with \`type\`, \`title\`, \`status\`, \`detail\`, and for invalid input
  \`errors\` with \`path\` and \`message\`.

The routes with all schemas are in [\`schemas/openapi.json\`](../schemas/openapi.json), at \`GET /api/v1/openapi.json\`, and as a page at
\`GET /docs\`.

`;

/** Replies that every route may give: listed once. */
const COMMON = ['400', '401', '403', '404', '411', '413', '429', '503', '504'];

/** Returns the expected text of docs/api.md. */
export function apiPage({ paths }: OpenApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      title: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
  const tags = Map.groupBy(operations, ({ operation: { tags: [tag = 'other'] = [] } }) => tag);
  const overview = operations.map(
    ({ title, operation }) =>
      `| [\`${title}\`](#${anchor(title)}) | ${readScope(operation)} | ${operation.summary ?? ''} |\n`,
  );
  const sections = [...tags].map(
    ([tag, each]) =>
      `## ${tag.charAt(0).toUpperCase()}${tag.slice(1)}\n\n${each
        .map(({ title, operation }) => showOperation(title, operation))
        .join('\n')}`,
  );
  return `${INTRODUCTION}| route | scope | answers |\n| --- | --- | --- |\n${overview.join('')}
Every route may also answer:${showCommon(operations)}

${sections.join('\n')}`;
}

function showCommon(operations: readonly { readonly operation: OpenApiOperation }[]): string {
  const responses = operations[0]?.operation.responses ?? {};
  const lines = COMMON.flatMap((status) => {
    const description = responses[status]?.description;
    return description === undefined ? [] : [`- ${status}: ${description}`];
  });
  return `\n\n${lines.join('\n')}`;
}

function showOperation(title: string, operation: OpenApiOperation): string {
  const { summary = '', parameters = [], requestBody, responses } = operation;
  const rows = parameters.map(
    ({ name, in: place, required = false, description = '', schema }) =>
      `| \`${name}\` | ${place}${required ? ', required' : ''} | ${describeSchema(schema)} | ${description} |\n`,
  );
  const body = requestBody?.content['application/json']?.schema;
  const replies = Object.entries(responses)
    .filter(([status]) => !COMMON.includes(status))
    .map(([status, { description, content }]) => {
      const schema = content?.['application/json']?.schema;
      return `- ${status}: ${description}${schema === undefined ? '' : ` ${describeSchema(schema)}`}`;
    });
  return [
    `### \`${title}\``,
    summary,
    ...(rows.length === 0
      ? []
      : [`| parameter | place | value | meaning |\n| --- | --- | --- | --- |\n${rows.join('').trimEnd()}`]),
    ...(body === undefined ? [] : [`Body: ${describeSchema(body)}`]),
    `${replies.join('\n')}\n`,
  ].join('\n\n');
}

function readScope({ security = [] }: OpenApiOperation): string {
  const scopes = new Set(security.flatMap((each) => Object.values(each).flat()));
  return scopes.size === 0 ? 'none' : [...scopes].map((scope) => `\`${scope}\``).join(', ');
}

interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
}

/** Describes a schema in one line. */
function describeSchema(schema: JsonSchema = {}): string {
  const { default: fallback } = schema;
  return `${describeType(schema)}${fallback === undefined ? '' : `, default \`${JSON.stringify(fallback)}\``}`;
}

function describeType(schema: JsonSchema): string {
  const { $ref, type, enum: values, anyOf, items, properties } = schema;
  if ($ref !== undefined) {
    return `\`${$ref.split('/').at(-1) ?? ''}\``;
  }
  if (values !== undefined) {
    return values.map((value) => `\`${String(value)}\``).join(', ');
  }
  if (anyOf !== undefined) {
    return [...new Set(anyOf.map(describeType))].join(' or ');
  }
  if (items !== undefined) {
    return `list of ${describeType(items)}`;
  }
  if (properties !== undefined) {
    return `{ ${Object.entries(properties)
      .map(([name, each]) => `\`${name}\`: ${describeType(each)}`)
      .join('; ')} }`;
  }
  return Array.isArray(type) ? type.join(' or ') : String(type ?? 'any');
}

/** Computes the anchor that Markdown viewers give a heading. */
function anchor(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/gu, '')
    .replaceAll(/\s/gu, '-');
}
