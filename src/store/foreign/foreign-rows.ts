import type { AgentSignals } from '../../domain/trace/agent-signals.ts';
import { OWN_SCOPE, SPAN_KINDS, STATUS_CODES } from '../../domain/trace/span.ts';
import { agentSignalSql, signalNamesSql, type SignalColumns } from '../spans/agent-signal-sql.ts';
import { attributeColumn, attributeLists, type ForeignTable, JSON_TEXT_SETTINGS } from './foreign-schema.ts';

/** Start and end of a span of `origin`, in Unix nanoseconds. A duration that wrapped around was negative and counts as 0. */
export const START = 'toUnixTimestamp64Nano(origin.Timestamp)';
export const END = `toInt64(least(
  toInt128(${START}) + if(origin.Duration < 9223372036854775808, origin.Duration, 0), toInt128(9223372036854775807)))`;

/**
 * Status and kind of a span of `origin`, in any case of letters. Exporters before the autumn of 2024 wrote the names of the
 * protocol, as `STATUS_CODE_ERROR`.
 */
export const STATUS = currentWords('StatusCode', 'STATUS_CODE_', STATUS_CODES);
export const KIND = currentWords('SpanKind', 'SPAN_KIND_', SPAN_KINDS);

function currentWords(column: string, prefix: string, words: readonly string[]): string {
  const text = `toString(origin.${column})`;
  const upper = words.map((word) => word.toUpperCase());
  return `transform(replaceOne(upper(${text}), '${prefix}', ''), ${quoteTexts(upper)}, ${quoteTexts(words)}, ${text})`;
}

/** Writes words without quotes in them as an array of SQL. */
export function quoteTexts(words: readonly string[]): string {
  return `[${words.map((word) => `'${word}'`).join(', ')}]`;
}

/** Excludes rows without a trace and our own evaluations, which the user's Collector may write to the same tables. */
export const COUNTS = `origin.TraceId != '' AND origin.ScopeName != '${OWN_SCOPE}'`;

/** Selects the spans of the requested traces. Parameters: `traceIds`, and `boundFrom` and `boundTo` in Unix nanoseconds. */
export const WANTED_TRACES = `origin.TraceId IN {traceIds:Array(String)}
  AND origin.Timestamp >= fromUnixTimestamp64Nano({boundFrom:Int64})
  AND origin.Timestamp <= fromUnixTimestamp64Nano({boundTo:Int64})`;

/**
 * Selects the log records of the requested traces. Has bounds of its own: `WANTED_TRACES` limits the starts of spans, and
 * logs may be written until the last span ends.
 */
const WANTED_LOGS = `origin.TraceId IN {traceIds:Array(String)}
  AND origin.Timestamp >= fromUnixTimestamp64Nano({logsFrom:Int64})
  AND origin.Timestamp <= fromUnixTimestamp64Nano({logsTo:Int64})`;

/** Returns an SQL condition that is true for a span of an agent or a model. */
export function agentSpanSql(table: ForeignTable, signals: AgentSignals): string {
  return agentSignalSql(spanColumns(table), signals);
}

/** Returns an SQL condition that is true for a log record of an agent. Other log records are not read. */
export function agentLogSql(table: ForeignTable, signals: AgentSignals): string {
  return agentSignalSql(logColumns(table), signals);
}

/** Returns SQL for the signal names of a span that arrivals store. */
export function spanSignalNames(table: ForeignTable): string {
  return signalNamesSql(spanColumns(table));
}

/** Returns SQL for the signal names of a log record that arrivals store. */
export function logSignalNames(table: ForeignTable): string {
  return signalNamesSql(logColumns(table));
}

function spanColumns(table: ForeignTable): SignalColumns {
  return {
    scopeName: 'origin.ScopeName',
    attributeKeys: attributeColumn('SpanAttributes', table.attributes, table.columns).keys,
    eventNames: 'origin.`Events.Name`',
  };
}

function logColumns(table: ForeignTable): SignalColumns {
  return {
    scopeName: 'origin.ScopeName',
    attributeKeys: attributeColumn('LogAttributes', table.attributes, table.columns).keys,
    eventNames: `[${eventName(table)}]`,
  };
}

/** Columns that are read without a change. */
const SPAN_COLUMNS = `TraceId SpanId ParentSpanId TraceState SpanName ServiceName ScopeName ScopeVersion Timestamp
  Duration StatusMessage Events.Timestamp Events.Name Links.TraceId Links.SpanId Links.TraceState`;
const LOG_COLUMNS = `TraceId SpanId Timestamp SeverityText SeverityNumber ServiceName Body ScopeName ScopeVersion`;

/**
 * Returns a subquery in brackets for the spans of the requested traces, with the columns of our own table and
 * `AttributeKeys`.
 */
export function spanRows(table: ForeignTable): string {
  const column = (name: string) => attributeColumn(name, table.attributes, table.columns);
  const lists = (name: string) => attributeLists(name, table.attributes);
  return `(SELECT
    '' AS Tenant,
    ${plain(SPAN_COLUMNS)},
    ${KIND} AS SpanKind,
    ${STATUS} AS StatusCode,
    ${column('ResourceAttributes').selected} AS ResourceAttributes,
    ${column('SpanAttributes').selected} AS SpanAttributes,
    ${column('SpanAttributes').keys} AS AttributeKeys,
    ${lists('Events.Attributes')} AS \`Events.Attributes\`,
    ${lists('Links.Attributes')} AS \`Links.Attributes\`,
    0 AS DroppedAttributesCount,
    CAST([], 'Array(String)') AS Truncated
  FROM ${table.name} AS origin
  WHERE ${WANTED_TRACES} ${formatSettings(table)})`;
}

/**
 * Number of the first block in a part. ClickHouse numbers blocks in their order of arrival and writes the number into the
 * part's name: `20261121_7_9_1`.
 */
const FIRST_BLOCK = "toUInt64OrZero(splitByChar('_', origin._part)[-3])";

/**
 * Returns a subquery in brackets for the log records of agents. `Block` and `RowInPart` order the records with equal times.
 */
export function logRows(table: ForeignTable, signals: AgentSignals): string {
  const column = (name: string) => attributeColumn(name, table.attributes, table.columns);
  return `(SELECT
    '' AS Tenant,
    ${plain(LOG_COLUMNS)},
    ${column('ResourceAttributes').selected} AS ResourceAttributes,
    ${column('LogAttributes').selected} AS LogAttributes,
    ${eventName(table)} AS EventName,
    ${table.ordered ? `${FIRST_BLOCK} AS Block, origin._part_offset AS RowInPart` : '0 AS Block, 0 AS RowInPart'}
  FROM ${table.name} AS origin
  WHERE ${WANTED_LOGS} AND (${agentLogSql(table, signals)}) ${formatSettings(table)})`;
}

/** Returns the SETTINGS clause for a query that selects rows of this table. */
export function formatSettings(table: ForeignTable): string {
  return table.attributes === 'json' ? JSON_TEXT_SETTINGS : '';
}

function plain(names: string): string {
  return names
    .split(/\s+/)
    .map((name) => `origin.\`${name}\` AS \`${name}\``)
    .join(', ');
}

/** Returns SQL for the name of an event. Older exporters have no column for it, and an SDK may send it as an attribute. */
export function eventName(table: ForeignTable): string {
  const attribute = attributeColumn('LogAttributes', table.attributes, table.columns).value("'event.name'");
  return table.columns.has('EventName')
    ? `if(origin.EventName != '', origin.EventName, ${attribute})`
    : attribute;
}
