import type { LogRecord, Span, SpanEvent } from '../../../domain/trace/span.ts';
import { RowWriter } from './row-writer.ts';

export { RowWriter };

const INT64_MAX = 2n ** 63n - 1n;

/**
 * Appends one row of `otel_traces` in the order of `SPAN_COLUMNS`. `truncated` names the columns whose value was cut
 * before. Times outside `DateTime64(9)` (an Int64 of nanoseconds) are clamped, and their columns are added to it.
 */
export function encodeSpan(
  writer: RowWriter,
  span: Span,
  tenant: string,
  truncated: readonly string[] = [],
): void {
  const startFits = writer.int64(span.startUnixNano);
  writer.string(span.traceId);
  writer.string(span.spanId);
  writer.string(span.parentSpanId);
  writer.string(span.traceState);
  writer.string(span.name);
  writer.string(span.kind);
  writer.string(span.serviceName);
  writer.map(span.resourceAttributes);
  writer.string(span.scopeName);
  writer.string(span.scopeVersion);
  writer.map(span.attributes);
  writer.uint64(span.durationNano);
  writer.string(span.statusCode);
  writer.string(span.statusMessage);
  encodeEvents(writer, span.events);
  encodeLinks(writer, span);
  writer.string(tenant);
  writer.uint32(Math.min(span.droppedAttributesCount, 0xffff_ffff));
  const eventsFit = span.events.every((event) => event.timeUnixNano <= INT64_MAX);
  encodeTruncated(writer, truncated, startFits, eventsFit);
}

/**
 * Appends one row of `otel_logs` in the order of `LOG_COLUMNS`. Fields that a `LogRecord` does not have (flags, schema
 * URLs, scope attributes) are written empty.
 */
export function encodeLog(
  writer: RowWriter,
  log: LogRecord,
  tenant: string,
  truncated: readonly string[] = [],
): void {
  const timeFits = writer.int64(log.timeUnixNano);
  writer.string(log.traceId);
  writer.string(log.spanId);
  writer.uint8(0);
  writer.string(log.severityText);
  writer.uint8(Math.max(0, Math.min(log.severityNumber, 255)));
  writer.string(log.serviceName);
  writer.string(log.body);
  writer.string('');
  writer.map(log.resourceAttributes);
  writer.string('');
  writer.string(log.scopeName);
  writer.string(log.scopeVersion);
  writer.varint(0);
  writer.map(log.attributes);
  writer.string(log.eventName);
  writer.string(tenant);
  encodeTruncated(writer, truncated, timeFits, true);
}

/** Writes the `Truncated` column: the names from the caller, then the clamped time columns. */
export function encodeTruncated(
  writer: RowWriter,
  truncated: readonly string[],
  timeFits: boolean,
  eventsFit: boolean,
): void {
  if (timeFits && eventsFit) {
    writer.strings(truncated);
    return;
  }
  const clamped = [...(timeFits ? [] : ['Timestamp']), ...(eventsFit ? [] : ['Events.Timestamp'])];
  writer.strings([...truncated, ...clamped]);
}

function encodeEvents(writer: RowWriter, events: readonly SpanEvent[]): void {
  writer.varint(events.length);
  for (const event of events) {
    writer.int64(event.timeUnixNano);
  }
  writer.strings(events.map((event) => event.name));
  writer.varint(events.length);
  for (const event of events) {
    writer.map(event.attributes);
  }
}

function encodeLinks(writer: RowWriter, { links }: Span): void {
  writer.strings(links.map((link) => link.traceId));
  writer.strings(links.map((link) => link.spanId));
  writer.strings(links.map((link) => link.traceState));
  writer.varint(links.length);
  for (const link of links) {
    writer.map(link.attributes);
  }
}
