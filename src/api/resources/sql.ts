import { z } from '@hono/zod-openapi';
import { ForbiddenError } from '../../domain/errors.ts';
import { NoQuery } from '../lists/fields.ts';
import { describeRoute, createRouter, describeBody, tenantStore } from '../router.ts';

const Statement = z
  .strictObject({
    query: z
      .string()
      .min(1)
      .max(65_536)
      .describe('One SELECT over the tables of docs/sql.md, without FORMAT and SETTINGS.'),
    format: z
      .string()
      .regex(/^\w{1,64}$/, {
        error: 'write an output format of ClickHouse, like JSON, CSVWithNames or Parquet',
      })
      .default('JSON')
      .describe('Output format of ClickHouse: JSON, JSONEachRow, CSVWithNames, Parquet, …'),
    maxSeconds: z.int().min(1).max(600).default(60).describe('Time limit of the statement, seconds.'),
  })
  .openapi('SqlStatement');

const runStatement = describeRoute('post', '/sql', {
  tag: 'sql',
  summary: 'Runs one SELECT over the tables of spanscore, for a token without a tenant.',
  request: { query: NoQuery, body: describeBody(Statement) },
  replies: {
    200: {
      description: 'The rows in the asked format.',
      content: { 'application/octet-stream': { schema: z.string().openapi({ format: 'binary' }) } },
    },
  },
});

/** Types of replies by the beginning of their format; others are bytes. */
const CONTENT_TYPES: readonly (readonly [RegExp, string])[] = [
  [/^JSON\w*EachRow/u, 'application/x-ndjson'],
  [/^JSON/u, 'application/json'],
  [/^CSV/u, 'text/csv; charset=utf-8'],
  [/^(?:TSV|TabSeparated|Pretty|Vertical|Markdown|Values)/u, 'text/plain; charset=utf-8'],
];

export function createSqlRoutes() {
  return createRouter().openapi(runStatement, async (c) => {
    const { sql, openWrites } = tenantStore(c.var);
    if (sql === undefined) {
      throw new ForbiddenError('SQL reads the rows of all tenants: use a token without a tenant');
    }
    const request = c.req.valid('json');
    // It changes nothing, and reads what no other route shows.
    await openWrites('sql.run');
    const rows = sql.run({ ...request, signal: c.req.raw.signal });
    // Its error is the whole reply.
    const first = await rows.next();
    const body = ReadableStream.from(
      (async function* () {
        yield first.value ?? new Uint8Array();
        yield* rows;
      })(),
    );
    const type = CONTENT_TYPES.find(([pattern]) => pattern.test(request.format))?.[1];
    return c.body(body as ReadableStream, 200, { 'content-type': type ?? 'application/octet-stream' });
  });
}
