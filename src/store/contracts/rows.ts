import type { LogRecord, Span, SpanEvent } from '../../domain/trace/span.ts';

const INITIAL_BYTES = 16 * 1024;
const SHORT_TEXT = 64;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const UINT64_MAX = 2n ** 64n - 1n;

/**
 * Growable buffer of RowBinary values: little-endian integers, LEB128 lengths, UTF-8 strings. The first `length` bytes of
 * `bytes` are the written bytes; code that writes in bulk may call `reserve` and fill `bytes` itself.
 */
export class RowWriter {
  bytes: Buffer;
  length = 0;

  constructor(initialBytes = INITIAL_BYTES) {
    this.bytes = Buffer.allocUnsafeSlow(Math.max(initialBytes, 16));
  }

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed > this.bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
      this.bytes.copy(grown, 0, 0, this.length);
      this.bytes = grown;
    }
  }

  /** Returns the bytes written so far, without a copy: valid until the next write. */
  written(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  /** Begins a new buffer; earlier results of `written` stay unchanged. */
  renew(initialBytes = INITIAL_BYTES): void {
    this.bytes = Buffer.allocUnsafeSlow(Math.max(initialBytes, 16));
    this.length = 0;
  }

  uint8(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  uint32(value: number): void {
    this.reserve(4);
    const { bytes, length } = this;
    bytes[length] = value;
    bytes[length + 1] = value >>> 8;
    bytes[length + 2] = value >>> 16;
    bytes[length + 3] = value >>> 24;
    this.length = length + 4;
  }

  /** Returns false when the value did not fit and was clamped. */
  int64(value: bigint): boolean {
    this.reserve(8);
    const clamped = value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : value;
    this.length = this.bytes.writeBigInt64LE(clamped, this.length);
    return clamped === value;
  }

  /** Returns false when the value did not fit and was clamped. */
  uint64(value: bigint): boolean {
    this.reserve(8);
    const clamped = value > UINT64_MAX ? UINT64_MAX : value < 0n ? 0n : value;
    this.length = this.bytes.writeBigUInt64LE(clamped, this.length);
    return clamped === value;
  }

  /** Writes an unsigned LEB128 number below 2^53: a length or a count. */
  varint(value: number): void {
    this.reserve(8);
    if (value < 0x80) {
      this.bytes[this.length++] = value;
      return;
    }
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.length++] = (rest & 0x7f) | 0x80;
      rest = Math.floor(rest / 128);
    }
    this.bytes[this.length++] = rest;
  }

  /** Writes a length-prefixed UTF-8 string; lone surrogates become U+FFFD. */
  string(text: string): void {
    if (text.length < SHORT_TEXT && this.#shortAscii(text)) {
      return;
    }
    const size = Buffer.byteLength(text);
    this.varint(size);
    this.reserve(size);
    this.length += this.bytes.write(text, this.length);
  }

  /** Writes length-prefixed, unchanged bytes. */
  stringBytes(source: Uint8Array, start: number, end: number): void {
    this.varint(end - start);
    this.raw(source, start, end);
  }

  /** Writes bytes without a length: parts of rows that are already encoded. */
  raw(source: Uint8Array, start = 0, end = source.length): void {
    const size = end - start;
    this.reserve(size);
    this.bytes.set(start === 0 && end === source.length ? source : source.subarray(start, end), this.length);
    this.length += size;
  }

  /** Writes a `Map(String, String)`. */
  map(entries: ReadonlyMap<string, string>): void {
    this.varint(entries.size);
    for (const [key, value] of entries) {
      this.string(key);
      this.string(value);
    }
  }

  /** Writes an `Array(String)`. */
  strings(items: readonly string[]): void {
    this.varint(items.length);
    for (const item of items) {
      this.string(item);
    }
  }

  /** Writes short ASCII text byte by byte, which is faster than a call of the runtime's encoder. */
  #shortAscii(text: string): boolean {
    this.reserve(text.length + 1);
    const start = this.length;
    this.bytes[start] = text.length;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) {
        return false;
      }
      this.bytes[start + 1 + i] = code;
    }
    this.length = start + 1 + text.length;
    return true;
  }
}

/**
 * Columns that a collector sends, in wire order, with their ClickHouse types: the first 22 belong to the exporter of the
 * OpenTelemetry Collector, the others to spanscore. `ArrivedAt` is never sent: the store sets it.
 */
export const SPAN_COLUMNS = [
  ['Timestamp', 'DateTime64(9)'],
  ['TraceId', 'String'],
  ['SpanId', 'String'],
  ['ParentSpanId', 'String'],
  ['TraceState', 'String'],
  ['SpanName', 'LowCardinality(String)'],
  ['SpanKind', 'LowCardinality(String)'],
  ['ServiceName', 'LowCardinality(String)'],
  ['ResourceAttributes', 'Map(LowCardinality(String), String)'],
  ['ScopeName', 'String'],
  ['ScopeVersion', 'String'],
  ['SpanAttributes', 'Map(LowCardinality(String), String)'],
  ['Duration', 'UInt64'],
  ['StatusCode', 'LowCardinality(String)'],
  ['StatusMessage', 'String'],
  ['Events.Timestamp', 'Array(DateTime64(9))'],
  ['Events.Name', 'Array(LowCardinality(String))'],
  ['Events.Attributes', 'Array(Map(LowCardinality(String), String))'],
  ['Links.TraceId', 'Array(String)'],
  ['Links.SpanId', 'Array(String)'],
  ['Links.TraceState', 'Array(String)'],
  ['Links.Attributes', 'Array(Map(LowCardinality(String), String))'],
  ['Tenant', 'LowCardinality(String)'],
  ['DroppedAttributesCount', 'UInt32'],
  ['Truncated', 'Array(String)'],
] as const;

/** Like `SPAN_COLUMNS`, for `otel_logs`. */
export const LOG_COLUMNS = [
  ['Timestamp', 'DateTime64(9)'],
  ['TraceId', 'String'],
  ['SpanId', 'String'],
  ['TraceFlags', 'UInt8'],
  ['SeverityText', 'LowCardinality(String)'],
  ['SeverityNumber', 'UInt8'],
  ['ServiceName', 'LowCardinality(String)'],
  ['Body', 'String'],
  ['ResourceSchemaUrl', 'LowCardinality(String)'],
  ['ResourceAttributes', 'Map(LowCardinality(String), String)'],
  ['ScopeSchemaUrl', 'LowCardinality(String)'],
  ['ScopeName', 'String'],
  ['ScopeVersion', 'LowCardinality(String)'],
  ['ScopeAttributes', 'Map(LowCardinality(String), String)'],
  ['LogAttributes', 'Map(LowCardinality(String), String)'],
  ['EventName', 'String'],
  ['Tenant', 'LowCardinality(String)'],
  ['Truncated', 'Array(String)'],
] as const;

export type IngestTable = 'otel_traces' | 'otel_logs';

/** Names of row encodings in dead letters. The number counts the columns: rows with other columns have other bytes. */
export const ROW_ENCODINGS: Record<IngestTable, string> = {
  otel_traces: `row_binary_${SPAN_COLUMNS.length}`,
  otel_logs: `row_binary_${LOG_COLUMNS.length}`,
};

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

/** Rows of one table, encoded as RowBinary in the column order of `columns.ts`. */
export interface RowBlock {
  readonly table: IngestTable;
  readonly rows: number;
  readonly chunks: readonly Uint8Array[];
}
