import { createRoute, z } from '@hono/zod-openapi';
import { readWhole } from '../access/whole-reads.ts';
import { spanJson, type StepSpan } from '../json/span-json.ts';
import { traceJson, deriveState } from '../json/trace-json.ts';
import { CURSOR_FIELDS, createList, describePage } from '../lists/cursors.ts';
import { FILTER_FIELDS } from '../lists/filters.ts';
import { createRouter, describeJson, PROBLEMS, tenantStore, secureRoute } from '../router.ts';
import { hexId, TenantQuery } from '../schemas/target-fields.ts';
import { SpanItem, TraceDetail, TraceItem } from '../schemas/trace-schema.ts';
import { decisionJson } from '../json/decision-json.ts';
import type { TraceView } from '../reads/traces.ts';
import { scoreJson } from '../json/score-json.ts';
import { computedJson } from '../json/computed-json.ts';
import { createTextCutter, type TextCutter } from '../json/cut-texts.ts';

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

/** Formats a whole trace as JSON, with big texts cut. */
function traceViewJson({ key, reading, spans, scores, decisions, computed, joinedWith, nowMs }: TraceView) {
  const cutter = createTextCutter();
  const counts = Object.entries(Object.groupBy(decisions, ({ status }) => status));
  const cut = reading === null ? null : cutter.cut(reading);
  return {
    tenant: key.tenant,
    traceId: key.traceId,
    state: deriveState(
      Object.fromEntries(counts.map(([status, rows]) => [status, rows.length])),
      scores.length,
    ),
    reading: cut === null ? null : { ...cut.value, truncated: cut.truncated },
    spans: spans.map((span) => cutSpanJson(span, cutter)),
    scores: scores.map(scoreJson),
    decisions: [...decisions.map((decision) => decisionJson(decision, nowMs)), ...computed.map(computedJson)],
    joinedWith,
  };
}

function cutSpanJson(span: StepSpan, cutter: TextCutter) {
  const { value, truncated } = cutter.cut(spanJson(span));
  return { ...value, truncated };
}
