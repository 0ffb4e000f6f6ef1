import { createHash } from 'node:crypto';
import type { Span, TraceData } from '../../../src/domain/trace/span.ts';

/**
 * Adds spans of other instrumentations to a trace: an HTTP server above its roots, HTTP clients between parents and some
 * children, and a failed database call below each span.
 */
export function addForeignSpans(trace: TraceData): TraceData {
  const ids = new Set(trace.spans.map((span) => span.spanId));
  const spans = trace.spans.flatMap((span, index): Span[] => {
    const isRoot = !ids.has(span.parentSpanId);
    const isWrapped = isRoot || index % 3 === 0;
    const outer = foreignSpan(span, isRoot ? 'server' : 'client', span.parentSpanId);
    const query = foreignSpan(span, 'query', span.spanId);
    return isWrapped ? [outer, { ...span, parentSpanId: outer.spanId }, query] : [span, query];
  });
  return { ...trace, spans };
}

const KINDS = { server: 'Server', client: 'Client', query: 'Client' } as const;

const ATTRIBUTES = {
  server: { 'http.request.method': 'POST', 'http.route': '/chat', 'url.path': '/chat' },
  client: {
    'http.request.method': 'POST',
    'server.address': 'api.example.com',
    'http.response.status_code': '200',
  },
  query: { 'db.system.name': 'postgresql', 'db.query.text': 'SELECT 1', 'error.type': '42P01' },
} as const;

function foreignSpan(beside: Span, kind: keyof typeof KINDS, parentSpanId: string): Span {
  const failed = kind === 'query';
  return {
    ...beside,
    spanId: createHash('sha256').update(`${beside.spanId} ${kind}`).digest('hex').slice(0, 16),
    parentSpanId,
    name: kind === 'query' ? 'SELECT shop' : 'POST /chat',
    kind: KINDS[kind],
    scopeName: kind === 'query' ? '@opentelemetry/instrumentation-pg' : '@opentelemetry/instrumentation-http',
    attributes: new Map(Object.entries(ATTRIBUTES[kind])),
    statusCode: failed ? 'Error' : 'Unset',
    statusMessage: failed ? 'relation does not exist' : '',
    events: failed
      ? [
          {
            timeUnixNano: beside.startUnixNano,
            name: 'exception',
            attributes: new Map([['exception.message', 'relation does not exist']]),
          },
        ]
      : [],
    links: [],
    droppedAttributesCount: 0,
  };
}
