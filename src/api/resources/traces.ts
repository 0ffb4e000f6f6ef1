import { createRoute, z } from '@hono/zod-openapi';
import { readWhole } from '../access/whole-reads.ts';
import { spanJson } from '../json/span-json.ts';
import { traceJson } from '../json/trace-json.ts';
import { traceViewJson } from '../json/trace-view-json.ts';
import { CURSOR_FIELDS, createList, describePage } from '../lists/cursors.ts';
import { FILTER_FIELDS } from '../lists/filters.ts';
import { createRouter, describeJson, PROBLEMS, tenantStore, secureRoute } from '../router.ts';
import { hexId, TenantQuery } from '../schemas/target-fields.ts';
import { SpanItem, TraceDetail, TraceItem } from '../schemas/trace-schema.ts';

const traceList = createList('traces');

const listTraces = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/traces',
  tags: ['traces'],
  summary: 'Traces of agents with their scores, newest first by their start.',
  request: { query: z.strictObject({ ...CURSOR_FIELDS, ...FILTER_FIELDS }) },
  responses: { 200: describeJson('A page of traces.', describePage(TraceItem)), ...PROBLEMS },
});

const readTrace = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/traces/{traceId}',
  tags: ['traces'],
  summary: 'One trace: its reading, spans, scores and decisions.',
  request: { query: TenantQuery, params: z.strictObject({ traceId: hexId(32) }) },
  responses: { 200: describeJson('The trace.', TraceDetail), ...PROBLEMS },
});

const readSpan = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/traces/{traceId}/spans/{spanId}',
  tags: ['traces'],
  summary: 'One span whole.',
  request: { query: TenantQuery, params: z.strictObject({ traceId: hexId(32), spanId: hexId(16) }) },
  responses: { 200: describeJson('The span.', SpanItem), ...PROBLEMS },
});

/** Creates the routes of traces. */
export function createTraceRoutes() {
  return createRouter()
    .openapi(listTraces, async (c) => {
      const { traces, nowMs } = tenantStore(c.var);
      const { filters, page } = traceList.readQuery(c.req.valid('query'), await nowMs());
      return c.json(traceList.toReply(await traces.list(filters, page), traceJson), 200);
    })
    .openapi(readTrace, async (c) => {
      const { traces } = tenantStore(c.var);
      const asked = { ...c.req.valid('param'), ...c.req.valid('query') };
      return readWhole(async () => c.json(traceViewJson(await traces.read(asked)), 200));
    })
    .openapi(readSpan, async (c) => {
      const { traces } = tenantStore(c.var);
      const asked = { ...c.req.valid('param'), ...c.req.valid('query') };
      const span = await readWhole(() => traces.readSpan(asked));
      return c.json({ ...spanJson(span), truncated: false }, 200);
    });
}
