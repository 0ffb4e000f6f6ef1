import type { Attributes, Span } from '../../domain/trace/span.ts';
import type { StepKind } from '../../domain/trace/agent-run.ts';
import { isoTime } from './time-json.ts';

/** Span with the kind of its step. */
export interface StepSpan {
  readonly span: Span;
  readonly kind: StepKind;
}

/** Formats a span as JSON; times in ISO 8601. */
export function spanJson({ span, kind }: StepSpan) {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    name: span.name,
    kind,
    spanKind: span.kind,
    service: span.serviceName,
    scope: span.scopeName,
    scopeVersion: span.scopeVersion,
    startedAt: nanoTime(span.startUnixNano),
    endedAt: nanoTime(span.startUnixNano + span.durationNano),
    startUnixNano: span.startUnixNano.toString(),
    durationMs: Number(span.durationNano) / 1e6,
    status: STATUSES[span.statusCode],
    statusMessage: span.statusMessage,
    attributes: toRecord(span.attributes),
    resourceAttributes: toRecord(span.resourceAttributes),
    events: span.events.map(({ name, timeUnixNano, attributes }) => ({
      name,
      at: nanoTime(timeUnixNano),
      attributes: toRecord(attributes),
    })),
    links: span.links.map(({ traceId, spanId, attributes }) => ({
      traceId,
      spanId,
      attributes: toRecord(attributes),
    })),
  };
}

const STATUSES = { Unset: 'unset', Ok: 'ok', Error: 'error' } as const;

function toRecord(attributes: Attributes): Record<string, string> {
  return Object.fromEntries(attributes);
}

function nanoTime(unixNano: bigint): string | null {
  return isoTime(Number(unixNano / 1_000_000n));
}
