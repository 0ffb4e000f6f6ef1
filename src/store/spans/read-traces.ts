import { AppError } from '../../domain/errors.ts';
import {
  type Attributes,
  endUnixNano,
  type LogRecord,
  OWN_SCOPE,
  type ReadingTerms,
  type Span,
  SPAN_KINDS,
  type SpanKind,
  STATUS_CODES,
  type StatusCode,
  type TraceData,
} from '../../domain/trace/span.ts';
import { joinTraceKey, type TraceKey } from '../contracts/stores.ts';
import { type Database, readValue, type StreamedRow } from '../database.ts';
import { jsonAttributes } from '../foreign/json-attributes.ts';
import { agentSignalSql } from './agent-signal-sql.ts';
import { ownTables, type SpanTables } from './span-tables.ts';
import { IN_KEYS, keyParams } from './trace-keys.ts';
import type { QueryParams } from '../values.ts';

/** Limits of one `read`. Sizes are in characters of the rows' JSON text, which is near their size in memory. */
export interface ReadLimits {
  /** Spans of one trace; of a larger one the root, then agent and model spans, then the earliest ones are read. */
  readonly spansPerTrace: number;
  /** A trace with more span rows than this is omitted. */
  readonly leavesOutLarger?: boolean;
  readonly logsPerTrace: number;
  /** Of one trace's spans; those beyond it are left out. */
  readonly sizePerTrace: number;
  /** Of all spans and logs in one call; beyond it the call fails, and the caller asks for fewer traces. */
  readonly sizePerRead: number;
}

export const READ_LIMITS: ReadLimits = {
  spansPerTrace: 10_000,
  logsPerTrace: 10_000,
  sizePerTrace: 32 * 1024 * 1024,
  sizePerRead: 256 * 1024 * 1024,
};

/** The limits of a read that leaves out traces with more spans than wanted. */
export function limitsFor(limits: ReadLimits, { atMostSpans }: { atMostSpans?: number } = {}): ReadLimits {
  return atMostSpans === undefined
    ? limits
    : { ...limits, spansPerTrace: atMostSpans, leavesOutLarger: true };
}

/** Selects the root, then agent and model spans, then the earliest ones; at most `most`. Reads keys, never content. */
function chosenSpanIds({ spans, attributeKeys }: SpanTables, { signals }: Database): string {
  const columns = { scopeName: 'ScopeName', attributeKeys, eventNames: '`Events.Name`' };
  const isAgent = agentSignalSql(columns, signals);
  return `
    SELECT SpanId FROM ${spans}
    WHERE ${IN_KEYS} AND ScopeName != {own:String}
    GROUP BY SpanId
    ORDER BY max(ParentSpanId = '') DESC, max(${isAgent}) DESC, min(Timestamp), SpanId
    LIMIT {most:UInt32}`;
}

interface Gathered {
  readonly key: TraceKey;
  /** Texts of rows by span id. They are decoded when somebody asks for the spans: the objects are several times as large. */
  readonly spans: Map<string, string>;
  readonly logs: Map<string, LogRecord>;
  rows: number;
  /** Of its spans. */
  size: number;
  logsSize: number;
  omitted: number;
}

interface Reading {
  readonly database: Database;
  readonly tables: SpanTables;
  readonly limits: ReadLimits;
  readonly traces: Map<string, Gathered>;
  size: number;
}

/**
 * Reads the spans and GenAI log records of at most `MAX_KEYS` traces; omits traces without any. Omits spans of spanscore,
 * which are about the trace and not part of it. Throws `input_too_large` when the traces together exceed the limits.
 */
export async function readTraces(
  database: Database,
  keys: readonly TraceKey[],
  limits: ReadLimits = READ_LIMITS,
  tables: SpanTables = ownTables(database),
): Promise<Map<string, TraceData>> {
  if (keys.length === 0) {
    return new Map();
  }
  const reading: Reading = { database, tables, limits, traces: new Map(), size: 0 };
  const params = { ...(await tables.params(keys)), own: OWN_SCOPE };
  await Promise.all([readSpans(reading, params), readLogs(reading, params)]);
  const large = [...reading.traces.values()].filter((trace) => trace.rows > limits.spansPerTrace);
  for (const trace of large) {
    if (limits.leavesOutLarger === true) {
      reading.traces.delete(joinTraceKey(trace.key));
    } else {
      await readLargeTrace(reading, trace, params);
    }
  }
  return new Map([...reading.traces].map(([key, trace]) => [key, toTraceData(trace, database.reading)]));
}

async function readSpans(reading: Reading, params: QueryParams): Promise<void> {
  const { tables } = reading;
  const rows = reading.database.stream(
    `SELECT ${SPAN_SELECTION} FROM ${tables.spans}
     WHERE ${IN_KEYS} AND ${tables.within} AND ScopeName != {own:String}
     ORDER BY Tenant, TraceId, SpanId
     LIMIT {rows:UInt32} BY Tenant, TraceId`,
    { ...params, rows: reading.limits.spansPerTrace + 1 },
  );
  for await (const batch of rows) {
    for (const row of batch) {
      addSpan(reading, row);
    }
  }
}

/** Reads a trace above the row limit again: one row of each of its most important spans. */
async function readLargeTrace(reading: Reading, trace: Gathered, all: QueryParams): Promise<void> {
  const { tables } = reading;
  const params = { ...all, ...keyParams([trace.key]), most: reading.limits.spansPerTrace };
  trace.spans.clear();
  reading.size -= trace.size;
  trace.size = 0;
  const rows = reading.database.stream(
    `SELECT ${SPAN_SELECTION} FROM ${tables.spans}
     WHERE ${IN_KEYS} AND ${tables.within} AND ScopeName != {own:String} AND SpanId IN (${chosenSpanIds(tables, reading.database)})
     ORDER BY SpanId, toUnixTimestamp64Nano(Timestamp) + if(Duration < 9223372036854775808, Duration, 0) DESC
     LIMIT 1 BY SpanId`,
    params,
  );
  for await (const batch of rows) {
    for (const row of batch) {
      addSpan(reading, row);
    }
  }
  trace.omitted = (await countSpans(reading, params)) - trace.spans.size;
}

function addSpan(reading: Reading, row: StreamedRow): void {
  const { text } = row;
  const [tenant, traceId, spanId] = readIds(row);
  const trace = gatherTrace(reading, { tenant, traceId });
  trace.rows += 1;
  const known = trace.spans.get(spanId);
  if (known !== undefined) {
    const [first, second] = [decodeSpan(known), decodeSpan(text)];
    trace.spans.set(spanId, richerSpan(first, second) === first ? known : text);
  } else if (trace.size + text.length > reading.limits.sizePerTrace) {
    trace.omitted += 1;
  } else {
    trace.spans.set(spanId, text);
    trace.size += text.length;
    charge(reading, text.length);
  }
}

/** The first three columns of a row, each a text. */
const IDS = /^\["(?:[^"\\]|\\.)*","(?:[^"\\]|\\.)*","(?:[^"\\]|\\.)*"/;

/** Reads the tenant, the trace id and the span id, without the other columns. */
function readIds({ text, columns }: StreamedRow): [tenant: string, traceId: string, spanId: string] {
  const ids = IDS.exec(text)?.[0];
  return (ids === undefined ? columns : JSON.parse(`${ids}]`)) as [string, string, string];
}

function decodeSpan(text: string): Span {
  return toSpan(JSON.parse(text) as unknown[]).span;
}

async function readLogs(reading: Reading, params: QueryParams): Promise<void> {
  const { tables } = reading;
  if (tables.logs === null) {
    return;
  }
  const rows = reading.database.stream(
    `SELECT ${LOG_SELECTION} FROM ${tables.logs}
     WHERE ${IN_KEYS} AND ${tables.within} AND ScopeName != {own:String}
     ORDER BY Tenant, TraceId, SpanId, Timestamp, ${tables.logOrder}
     LIMIT {rows:UInt32} BY Tenant, TraceId`,
    { ...params, rows: reading.limits.logsPerTrace },
  );
  for await (const batch of rows) {
    for (const row of batch) {
      const { tenant, log, identity } = toLog(row.columns);
      const trace = gatherTrace(reading, { tenant, traceId: log.traceId });
      trace.logs.set(identity, log);
      trace.logsSize += row.text.length;
      charge(reading, row.text.length);
    }
  }
}

function gatherTrace({ traces }: Reading, key: TraceKey): Gathered {
  const name = joinTraceKey(key);
  const known = traces.get(name);
  if (known !== undefined) {
    return known;
  }
  const trace: Gathered = {
    key,
    spans: new Map(),
    logs: new Map(),
    rows: 0,
    size: 0,
    logsSize: 0,
    omitted: 0,
  };
  traces.set(name, trace);
  return trace;
}

function charge(reading: Reading, size: number): void {
  const { limits, traces } = reading;
  reading.size += size;
  if (reading.size > limits.sizePerRead) {
    throw new AppError(
      `${traces.size} traces hold more than ${limits.sizePerRead} characters of spans: read fewer at once`,
      {
        code: 'input_too_large',
        stage: 'store',
        retryable: false,
        details: { limit: limits.sizePerRead, traces: traces.size },
      },
    );
  }
}

function toTraceData(
  { key, spans: texts, logs, size, logsSize, omitted }: Gathered,
  terms: ReadingTerms,
): TraceData {
  let spans: readonly Span[] | undefined;
  const data: TraceData = {
    ...terms,
    traceId: key.traceId,
    get spans() {
      spans ??= [...texts.values()].map(decodeSpan).sort(byStart);
      texts.clear();
      return spans;
    },
    logs: [...logs.values()],
    size: size + logsSize,
    ...(omitted === 0 ? {} : { omittedSpans: omitted }),
  };
  // It is no part of what is compared or copied.
  return Object.defineProperty(data, 'forget', {
    value: () => {
      spans = [];
      texts.clear();
    },
  });
}

function byStart(a: Span, b: Span): number {
  if (a.startUnixNano !== b.startUnixNano) {
    return a.startUnixNano < b.startUnixNano ? -1 : 1;
  }
  return a.spanId < b.spanId ? -1 : 1;
}

async function countSpans({ database, tables }: Reading, params: QueryParams): Promise<number> {
  const sql = `SELECT uniqExact(SpanId) FROM ${tables.spans} WHERE ${IN_KEYS} AND ScopeName != {own:String}`;
  return (await readValue(database, sql, params)) ?? 0;
}

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
