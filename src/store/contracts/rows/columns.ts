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

/** Tables that a collector writes. */
export type IngestTable = 'otel_traces' | 'otel_logs';

/** Names of row encodings in dead letters. The number counts the columns: rows with other columns have other bytes. */
export const ROW_ENCODINGS: Record<IngestTable, string> = {
  otel_traces: `row_binary_${SPAN_COLUMNS.length}`,
  otel_logs: `row_binary_${LOG_COLUMNS.length}`,
};
