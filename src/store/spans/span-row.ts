import {
  endUnixNano,
  type Attributes,
  type LogRecord,
  type Span,
  type SpanKind,
  type StatusCode,
  SPAN_KINDS,
  STATUS_CODES,
} from '../../domain/trace/span.ts';
import { jsonAttributes } from '../foreign/json-attributes.ts';

/**
 * Columns for `toSpan`, in its order. Times are Unix nanoseconds, because the date types of ClickHouse have a smaller
 * range.
 */
export const SPAN_SELECTION = `
  Tenant, TraceId, SpanId, ParentSpanId, TraceState, SpanName, SpanKind, ServiceName, ResourceAttributes, ScopeName,
  ScopeVersion, SpanAttributes, toUnixTimestamp64Nano(Timestamp), Duration, StatusCode, StatusMessage,
  arrayMap(time -> toUnixTimestamp64Nano(time), \`Events.Timestamp\`), \`Events.Name\`, \`Events.Attributes\`,
  \`Links.TraceId\`, \`Links.SpanId\`, \`Links.TraceState\`, \`Links.Attributes\`, DroppedAttributesCount,
  Truncated`;

/** Text of a JSON column and its attribute keys, for tables whose attributes are not a map. */
type JsonRow = readonly [text: string, keys: readonly string[]];
type MapRow = Record<string, string> | JsonRow;
type SpanTuple = [
  tenant: string,
  traceId: string,
  spanId: string,
  parentSpanId: string,
  traceState: string,
  name: string,
  kind: string,
  serviceName: string,
  resourceAttributes: MapRow,
  scopeName: string,
  scopeVersion: string,
  attributes: MapRow,
  start: string,
  duration: string,
  statusCode: string,
  statusMessage: string,
  eventTimes: string[],
  eventNames: string[],
  eventAttributes: MapRow[],
  linkTraceIds: string[],
  linkSpanIds: string[],
  linkTraceStates: string[],
  linkAttributes: MapRow[],
  droppedAttributesCount: number,
  truncated: string[],
];

/** Durations from here on are negative ones that wrapped around: the span ended before it started. */
const WRAPPED = 2n ** 63n;

const KINDS: ReadonlySet<string> = new Set(SPAN_KINDS);
const STATUSES: ReadonlySet<string> = new Set(STATUS_CODES);

export interface TenantSpan {
  readonly tenant: string;
  readonly span: Span;
}

/** Converts a row of `SPAN_SELECTION` to a span. */
export function toSpan(columns: readonly unknown[]): TenantSpan {
  const row = columns as unknown as SpanTuple;
  const duration = BigInt(row[13]);
  const span: Span = {
    traceId: row[1],
    spanId: row[2],
    parentSpanId: row[3],
    traceState: row[4],
    name: row[5],
    kind: KINDS.has(row[6]) ? (row[6] as SpanKind) : 'Unspecified',
    serviceName: row[7],
    resourceAttributes: toAttributes(row[8]),
    scopeName: row[9],
    scopeVersion: row[10],
    attributes: toAttributes(row[11]),
    startUnixNano: BigInt(row[12]),
    durationNano: duration < WRAPPED ? duration : 0n,
    statusCode: STATUSES.has(row[14]) ? (row[14] as StatusCode) : 'Unset',
    statusMessage: row[15],
    events: row[16].map((time, index) => ({
      timeUnixNano: BigInt(time),
      name: row[17][index] ?? '',
      attributes: toAttributes(row[18][index]),
    })),
    links: row[19].map((traceId, index) => ({
      traceId,
      spanId: row[20][index] ?? '',
      traceState: row[21][index] ?? '',
      attributes: toAttributes(row[22][index]),
    })),
    droppedAttributesCount: row[23],
    ...(row[24].length === 0 ? {} : { truncated: row[24] }),
  };
  return { tenant: row[0], span };
}

/** Columns for `toLog`, in its order. */
export const LOG_SELECTION = `
  Tenant, TraceId, SpanId, toUnixTimestamp64Nano(Timestamp), SeverityText, SeverityNumber, ServiceName, Body,
  ResourceAttributes, ScopeName, ScopeVersion, LogAttributes, EventName`;

type LogTuple = [
  tenant: string,
  traceId: string,
  spanId: string,
  time: string,
  severityText: string,
  severityNumber: number,
  serviceName: string,
  body: string,
  resourceAttributes: MapRow,
  scopeName: string,
  scopeVersion: string,
  attributes: MapRow,
  eventName: string,
];

export interface TenantLog {
  readonly tenant: string;
  readonly log: LogRecord;
  /** Two records have the same identity when their content is equal. */
  readonly identity: string;
}

/** Converts a row of `LOG_SELECTION` to a log record. */
export function toLog(columns: readonly unknown[]): TenantLog {
  const row = columns as unknown as LogTuple;
  const attributes = toAttributes(row[11]);
  const log: LogRecord = {
    timeUnixNano: BigInt(row[3]),
    traceId: row[1],
    spanId: row[2],
    severityText: row[4],
    severityNumber: row[5],
    serviceName: row[6],
    body: row[7],
    resourceAttributes: toAttributes(row[8]),
    scopeName: row[9],
    scopeVersion: row[10],
    attributes,
    // Rows from other writers may have the event name as an attribute only.
    eventName: row[12] === '' ? (attributes.get('event.name') ?? '') : row[12],
  };
  return { tenant: row[0], log, identity: JSON.stringify(row) };
}

function toAttributes(map: MapRow | undefined): Attributes {
  return isJsonRow(map) ? jsonAttributes(map[0], map[1]) : new Map(Object.entries(map ?? {}));
}

function isJsonRow(map: MapRow | undefined): map is JsonRow {
  return Array.isArray(map);
}

/**
 * Chooses one of two versions of a span: the version with the later end, then with more attributes, then with the greater
 * bytes. The order of arrival has no influence, so every reader chooses the same version.
 */
export function richerSpan(a: Span, b: Span): Span {
  const byEnd = endUnixNano(a) - endUnixNano(b);
  if (byEnd !== 0n) {
    return byEnd > 0n ? a : b;
  }
  const byAttributes = a.attributes.size - b.attributes.size;
  if (byAttributes !== 0) {
    return byAttributes > 0 ? a : b;
  }
  return serializeSpan(a) >= serializeSpan(b) ? a : b;
}

function serializeSpan(span: Span): string {
  return JSON.stringify(span, (_key, value: unknown) => {
    if (typeof value === 'bigint') {
      return String(value);
    }
    return value instanceof Map ? [...value] : value;
  });
}
