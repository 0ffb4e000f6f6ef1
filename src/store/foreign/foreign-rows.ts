import { OWN_SCOPE } from '../../domain/span.ts';
import { agentSignalSql, signalNamesSql, type SignalColumns } from '../spans/agent-signal-sql.ts';
import { attributeColumn, attributeLists, JSON_TEXT_SETTINGS } from './attribute-columns.ts';
import type { ForeignTable } from './foreign-schema.ts';

/** Unix nanoseconds at which a span of `origin` started, and ended: a duration that wrapped was a negative one. */
export const START = 'toUnixTimestamp64Nano(origin.Timestamp)';
export const END = `toInt64(least(
  toInt128(${START}) + if(origin.Duration < 9223372036854775808, origin.Duration, 0), toInt128(9223372036854775807)))`;

/** Rows that belong to no trace, and our own evaluations, which came here by the user's Collector. */
export const COUNTS = `origin.TraceId != '' AND origin.ScopeName != '${OWN_SCOPE}'`;

/** The spans of the wanted traces; takes `traceIds`, `boundFrom` and `boundTo`, Unix nanoseconds. */
export const WANTED_TRACES = `origin.TraceId IN {traceIds:Array(String)}
  AND origin.Timestamp >= fromUnixTimestamp64Nano({boundFrom:Int64})
  AND origin.Timestamp <= fromUnixTimestamp64Nano({boundTo:Int64})`;

/** As `WANTED_TRACES`, of log records: they come until the last span has ended, and the bounds are those of starts. */
const WANTED_LOGS = `origin.TraceId IN {traceIds:Array(String)}
  AND origin.Timestamp >= fromUnixTimestamp64Nano({logsFrom:Int64})
  AND origin.Timestamp <= fromUnixTimestamp64Nano({logsTo:Int64})`;

/** True for a span of `origin` that is of an agent or a model. */
export function agentSpanSql(table: ForeignTable): string {
  return agentSignalSql(spanColumns(table));
}

/** True for a log record of `origin` that is of an agent: other logs are left out. */
export function agentLogSql(table: ForeignTable): string {
  return agentSignalSql(logColumns(table));
}

/** Names of a span of `origin` that arrivals store. */
export function spanSignalNames(table: ForeignTable): string {
  return signalNamesSql(spanColumns(table));
}

/** Names of a log record of `origin` that arrivals store. */
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

/** Columns that are taken as they are. */
const SPAN_COLUMNS = `TraceId SpanId ParentSpanId TraceState SpanName SpanKind ServiceName ScopeName ScopeVersion Timestamp
  Duration StatusCode StatusMessage Events.Timestamp Events.Name Links.TraceId Links.SpanId Links.TraceState`;
const LOG_COLUMNS = `TraceId SpanId Timestamp SeverityText SeverityNumber ServiceName Body ScopeName ScopeVersion`;

/** The spans of the wanted traces with the columns of our own table, and `AttributeKeys`: a subquery in brackets. */
export function spanRows(table: ForeignTable): string {
  const column = (name: string) => attributeColumn(name, table.attributes, table.columns);
  const lists = (name: string) => attributeLists(name, table.attributes);
  return `(SELECT
    '' AS Tenant,
    ${plain(SPAN_COLUMNS)},
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

/** Blocks are numbered as they come; a part's name has the number of its first: `20261121_7_9_1`. */
const FIRST_BLOCK = "toUInt64OrZero(splitByChar('_', origin._part)[-3])";

/** As `spanRows`, for log records of agents, and with what orders those of one time. */
export function logRows(table: ForeignTable): string {
  const column = (name: string) => attributeColumn(name, table.attributes, table.columns);
  return `(SELECT
    '' AS Tenant,
    ${plain(LOG_COLUMNS)},
    ${column('ResourceAttributes').selected} AS ResourceAttributes,
    ${column('LogAttributes').selected} AS LogAttributes,
    ${eventName(table)} AS EventName,
    ${table.ordered ? `${FIRST_BLOCK} AS Block, origin._part_offset AS RowInPart` : '0 AS Block, 0 AS RowInPart'}
  FROM ${table.name} AS origin
  WHERE ${WANTED_LOGS} AND (${agentLogSql(table)}) ${formatSettings(table)})`;
}

/** Settings that the rows of a table need where they are made. */
export function formatSettings(table: ForeignTable): string {
  return table.attributes === 'json' ? JSON_TEXT_SETTINGS : '';
}

function plain(names: string): string {
  return names
    .split(/\s+/)
    .map((name) => `origin.\`${name}\` AS \`${name}\``)
    .join(', ');
}

/** Older exporters have no column for it, and an SDK may send it as an attribute. */
function eventName(table: ForeignTable): string {
  const attribute = attributeColumn('LogAttributes', table.attributes, table.columns).value("'event.name'");
  return table.columns.has('EventName')
    ? `if(origin.EventName != '', origin.EventName, ${attribute})`
    : attribute;
}
