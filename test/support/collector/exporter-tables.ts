import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Attributes, LogRecord, Span } from '../../../src/domain/trace/span.ts';
import type { AttributeKind, ForeignTables } from '../../../src/store/foreign/foreign-schema.ts';
import type { TestEngine } from '../store/engine.ts';

const FIXTURES = new URL('../../fixtures/otelcol/', import.meta.url);

/** Tables of the OpenTelemetry Collector's ClickHouse exporter, in a database of their own. */
export interface ExporterTables {
  readonly database: string;
  readonly source: ForeignTables;
  /** Runs a statement with `{db}` as the database. Returns the text of the answer. */
  run(statement: string, body?: string): Promise<string>;
  /** Inserts spans in one block, as the exporter does. */
  addSpans(spans: readonly Span[], typed?: TypedAttributes): Promise<void>;
  addLogs(logs: readonly LogRecord[]): Promise<void>;
}

/** Original values of each span, for tables that keep types. Without them all values are strings. */
export type TypedAttributes = ReadonlyMap<string, ReadonlyMap<Attributes, Record<string, unknown>>>;

export interface ExporterTableOptions {
  /** Default: a random name. */
  readonly database?: string;
  readonly attributes?: AttributeKind;
  /** True when the tables exist already. */
  readonly existing?: boolean;
  /** True with the exporter's table of trace starts. The exporter creates it by default. */
  readonly lookup?: boolean;
  readonly logs?: boolean;
  readonly lookbackMs?: number;
  /** Edits the statements, for tables that differ. */
  readonly edit?: (ddl: string) => string;
}

export async function exporterTables(
  engine: Pick<TestEngine, 'url' | 'username' | 'password'>,
  options: ExporterTableOptions = {},
): Promise<ExporterTables> {
  const { attributes = 'map', lookup = true, logs = false, lookbackMs = 900_000 } = options;
  const { database = `otel_${randomBytes(6).toString('hex')}` } = options;
  const run = (statement: string, body?: string) =>
    runStatement(engine, statement.replaceAll('{db}', database), body);
  const table = attributes === 'map' ? 'otel_traces' : 'otel_traces_json';
  if (options.existing !== true) {
    await createTables(run, table, { ...options, lookup, logs });
  }
  return {
    database,
    source: {
      traces: `${database}.${table}`,
      lookbackMs,
      ...(logs ? { logs: `${database}.otel_logs` } : {}),
    },
    run,
    addSpans: async (spans, typed) => {
      const rows = spans.map((span) =>
        JSON.stringify(spanRow(span, attributes, typed?.get(computeId(span)))),
      );
      await run(`INSERT INTO {db}.${table} FORMAT JSONEachRow`, rows.join('\n'));
    },
    addLogs: async (records) => {
      const rows = records.map((log) => JSON.stringify(logRow(log)));
      await run('INSERT INTO {db}.otel_logs FORMAT JSONEachRow', rows.join('\n'));
    },
  };
}

async function createTables(
  run: ExporterTables['run'],
  table: string,
  { lookup = true, logs = false, edit = withoutExpiry }: ExporterTableOptions,
): Promise<void> {
  await run('CREATE DATABASE {db}');
  for (const ddl of [table, ...(logs ? ['otel_logs'] : [])].map(readDdl)) {
    await run(edit(ddl));
  }
  for (const ddl of lookup ? ['otel_traces_trace_id_ts', 'otel_traces_trace_id_ts_mv'].map(readDdl) : []) {
    await run(withoutExpiry(ddl.replaceAll('otel_traces', table)));
  }
}

/** Returns a key that identifies a span among several traces. */
function computeId(span: Pick<Span, 'traceId' | 'spanId'>): string {
  return `${span.traceId} ${span.spanId}`;
}

/** Reads the original values of a request's spans, for `addSpans`. `spans` are the decoded spans of the request. */
export function typedAttributes(request: OtlpRequest, spans: readonly Span[]): TypedAttributes {
  const byId = new Map(spans.map((span) => [computeId(span), span]));
  const typed = new Map<string, Map<Attributes, Record<string, unknown>>>();
  for (const { resource, scopeSpans } of request.resourceSpans ?? []) {
    for (const raw of scopeSpans.flatMap((scope) => scope.spans ?? [])) {
      const span = byId.get(computeId(raw));
      if (span !== undefined) {
        const lists: [Attributes | undefined, readonly OtlpAttribute[] | undefined][] = [
          [span.resourceAttributes, resource?.attributes],
          [span.attributes, raw.attributes],
          ...(raw.events ?? []).map(
            (event, index) =>
              [span.events[index]?.attributes, event.attributes] as [Attributes, OtlpAttribute[]],
          ),
          ...(raw.links ?? []).map(
            (link, index) =>
              [span.links[index]?.attributes, link.attributes] as [Attributes, OtlpAttribute[]],
          ),
        ];
        typed.set(
          computeId(span),
          new Map(
            lists.flatMap(([attributes, sent]) =>
              attributes === undefined ? [] : [[attributes, readPlain(sent)]],
            ),
          ),
        );
      }
    }
  }
  return typed;
}

interface OtlpAttribute {
  readonly key: string;
  readonly value?: OtlpValue;
}
interface OtlpValue {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: string | number;
  readonly doubleValue?: number;
  readonly bytesValue?: string;
  readonly arrayValue?: { readonly values?: readonly OtlpValue[] };
  readonly kvlistValue?: { readonly values?: readonly OtlpAttribute[] };
}
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes?: readonly OtlpAttribute[];
  readonly events?: readonly { readonly attributes?: readonly OtlpAttribute[] }[];
  readonly links?: readonly { readonly attributes?: readonly OtlpAttribute[] }[];
}
export interface OtlpRequest {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly spans?: readonly OtlpSpan[] }[];
  }[];
}

function readPlain(attributes: readonly OtlpAttribute[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value ?? {})]));
}

function plainValue(value: OtlpValue): unknown {
  if (value.arrayValue !== undefined) {
    return (value.arrayValue.values ?? []).map(plainValue);
  }
  if (value.kvlistValue !== undefined) {
    return readPlain(value.kvlistValue.values);
  }
  if (value.intValue !== undefined) {
    return Number(value.intValue);
  }
  return value.stringValue ?? value.boolValue ?? value.doubleValue ?? value.bytesValue ?? null;
}

/** Reads rows that a real exporter wrote, as the body of an insert. */
export function exportedRows(file: string): string {
  return readFileSync(new URL(file, FIXTURES), 'utf8');
}

function readDdl(table: string): string {
  return readFileSync(new URL(`rendered_${table}.sql`, FIXTURES), 'utf8').replaceAll(/\botel\./g, '{db}.');
}

/** Removes the expiry: rows of a recording are older than the retention of the exporter's tables. */
export function withoutExpiry(ddl: string): string {
  return ddl.replace(/^TTL .*$/m, '');
}

async function runStatement(
  engine: Pick<TestEngine, 'url' | 'username' | 'password'>,
  statement: string,
  body?: string,
): Promise<string> {
  const url = new URL(engine.url);
  url.searchParams.set('query', statement);
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${engine.username}:${engine.password}`).toString('base64')}`,
    },
    body: body ?? '',
  });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`ClickHouse answered ${response.status} to ${statement.slice(0, 80)}: ${text}`);
  }
  return text;
}

type Typed = ReadonlyMap<Attributes, Record<string, unknown>>;

function spanRow(span: Span, kind: AttributeKind, typed: Typed | undefined): object {
  const readValues = (attributes: Attributes) =>
    kind === 'map'
      ? Object.fromEntries(attributes)
      : (typed?.get(attributes) ?? Object.fromEntries(attributes));
  const listKeys = (attributes: Attributes) => [...attributes.keys()].sort();
  return {
    Timestamp: formatTime(span.startUnixNano),
    TraceId: span.traceId,
    SpanId: span.spanId,
    ParentSpanId: span.parentSpanId,
    TraceState: span.traceState,
    SpanName: span.name,
    SpanKind: span.kind,
    ServiceName: span.serviceName,
    ResourceAttributes: readValues(span.resourceAttributes),
    ...(kind === 'json' ? { ResourceAttributesKeys: listKeys(span.resourceAttributes) } : {}),
    ScopeName: span.scopeName,
    ScopeVersion: span.scopeVersion,
    SpanAttributes: readValues(span.attributes),
    ...(kind === 'json' ? { SpanAttributesKeys: listKeys(span.attributes) } : {}),
    Duration: String(BigInt.asUintN(64, span.durationNano)),
    StatusCode: span.statusCode,
    StatusMessage: span.statusMessage,
    'Events.Timestamp': span.events.map((event) => formatTime(event.timeUnixNano)),
    'Events.Name': span.events.map((event) => event.name),
    'Events.Attributes': span.events.map((event) => readValues(event.attributes)),
    'Links.TraceId': span.links.map((link) => link.traceId),
    'Links.SpanId': span.links.map((link) => link.spanId),
    'Links.TraceState': span.links.map((link) => link.traceState),
    'Links.Attributes': span.links.map((link) => readValues(link.attributes)),
  };
}

function logRow(log: LogRecord): object {
  return {
    Timestamp: formatTime(log.timeUnixNano),
    TraceId: log.traceId,
    SpanId: log.spanId,
    SeverityText: log.severityText,
    SeverityNumber: log.severityNumber,
    ServiceName: log.serviceName,
    Body: log.body,
    ResourceAttributes: Object.fromEntries(log.resourceAttributes),
    ScopeName: log.scopeName,
    ScopeVersion: log.scopeVersion,
    LogAttributes: Object.fromEntries(log.attributes),
    EventName: log.eventName,
  };
}

/** Formats Unix seconds with nine decimals, for a time column. */
function formatTime(unixNano: bigint): string {
  const digits = String(unixNano).padStart(10, '0');
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`;
}
