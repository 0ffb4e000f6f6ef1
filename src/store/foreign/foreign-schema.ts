import { ClickHouseError } from '@clickhouse/client';
import { AppError, ConfigError, StoreUnavailableError } from '../../domain/errors.ts';
import type { Database } from '../database.ts';
import { quoteName } from '../values.ts';

type Reader = Pick<Database, 'rows'>;

/** Tables of the OpenTelemetry Collector's ClickHouse exporter, as the configuration names them. */
export interface ForeignTables {
  /** `table` or `database.table`. */
  readonly traces: string;
  readonly logs?: string | undefined;
  /** Longest delay of a span, milliseconds. */
  readonly lookbackMs: number;
}

export interface ForeignTable {
  /** As SQL names it. */
  readonly name: string;
  readonly columns: ReadonlySet<string>;
  readonly attributes: AttributeKind;
  /** True for a table with row positions; false for a view. */
  readonly ordered: boolean;
}

export interface ForeignSchema {
  readonly traces: ForeignTable;
  /** Exporter's table of the first and last start of each trace, in whole seconds; null when it cannot be used. */
  readonly lookup: string | null;
  readonly logs: ForeignTable | null;
}

/** Columns of the exporter's table of spans. */
export const SPAN_COLUMNS =
  `Timestamp TraceId SpanId ParentSpanId TraceState SpanName SpanKind ServiceName ResourceAttributes
  ScopeName ScopeVersion SpanAttributes Duration StatusCode StatusMessage Events.Timestamp Events.Name Events.Attributes
  Links.TraceId Links.SpanId Links.TraceState Links.Attributes`.split(/\s+/);

/** Columns of the exporter's table of log records. */
export const LOG_COLUMNS =
  `Timestamp TraceId SpanId SeverityText SeverityNumber ServiceName Body ResourceAttributes ScopeName
  ScopeVersion LogAttributes`.split(/\s+/);

/**
 * Reads the schema of the tables. Throws a `StoreUnavailableError` when one is missing (its exporter may still create it)
 * or not readable, and a `ConfigError` when one is no table of the exporter.
 */
export async function readForeignSchema(database: Reader, tables: ForeignTables): Promise<ForeignSchema> {
  const traces = await readTable(database, tables.traces, {
    key: 'store.spans.table',
    columns: SPAN_COLUMNS,
    attributes: 'SpanAttributes',
  });
  const logs =
    tables.logs === undefined
      ? null
      : await readTable(database, tables.logs, {
          key: 'store.spans.logs',
          columns: LOG_COLUMNS,
          attributes: 'LogAttributes',
        });
  return { traces, logs, lookup: await readLookup(database, `${tables.traces}_trace_id_ts`) };
}

interface Expected {
  readonly key: string;
  readonly columns: readonly string[];
  readonly attributes: string;
}

async function readTable(database: Reader, given: string, expected: Expected): Promise<ForeignTable> {
  const name = quoted(given);
  const found = await read<{ name: string; type: string }>(
    database,
    `DESCRIBE TABLE ${name}`,
    given,
    expected,
  );
  const types = new Map(found.map((column) => [column.name, column.type]));
  const missing = expected.columns.filter((column) => !types.has(column) && !isInNested(column, types));
  if (missing.length > 0) {
    throw new ConfigError(
      `${expected.key}: ${given} has no column ${missing.join(', ')}: name a table of the OpenTelemetry Collector's ClickHouse exporter`,
    );
  }
  const [attributes, resource] = [expected.attributes, 'ResourceAttributes'].map((column) =>
    attributeKind(types.get(column) ?? ''),
  );
  if (attributes === null || attributes === undefined || resource !== attributes) {
    throw new ConfigError(
      `${expected.key}: ${given} has ${expected.attributes} ${types.get(expected.attributes)} and ResourceAttributes ${types.get('ResourceAttributes')}; both must be Map(…, String), or both JSON`,
    );
  }
  await read(
    database,
    `SELECT ${expected.columns.map(quoteName).join(', ')} FROM ${name} LIMIT 0`,
    given,
    expected,
  );
  const ordered = await answers(database, `SELECT _part, _part_offset FROM ${name} LIMIT 0`);
  return { name, columns: new Set(types.keys()), attributes, ordered };
}

/** `flatten_nested = 0` keeps `Events` and `Links` as one column each; their parts are read by the same names. */
function isInNested(column: string, types: ReadonlyMap<string, string>): boolean {
  return types.get(column.split('.')[0] ?? '')?.startsWith('Nested(') === true;
}

async function readLookup(database: Reader, given: string): Promise<string | null> {
  const name = quoted(given);
  return (await answers(database, `SELECT TraceId, Start, End FROM ${name} LIMIT 0`)) ? name : null;
}

/** False when the queried object does not exist, or is not readable for this user. */
async function answers(database: Reader, sql: string): Promise<boolean> {
  try {
    await database.rows(sql);
    return true;
  } catch (error) {
    if (isAnswer(error, [MISSING_COLUMN, MISSING_TABLE, MISSING_DATABASE, NOT_ALLOWED])) {
      return false;
    }
    throw error;
  }
}

const MISSING_COLUMN = '47';
const MISSING_TABLE = '60';
const MISSING_DATABASE = '81';
const NOT_ALLOWED = '497';

async function read<Row>(database: Reader, sql: string, given: string, { key }: Expected): Promise<Row[]> {
  try {
    return await database.rows<Row>(sql);
  } catch (error) {
    if (isMissingTable(error)) {
      throw new StoreUnavailableError(
        `${key}: there is no table ${given}; the OpenTelemetry Collector's ClickHouse exporter makes it when it starts, else check the name`,
        { cause: error },
      );
    }
    if (isAnswer(error, [NOT_ALLOWED])) {
      throw new StoreUnavailableError(
        `${key}: the user of store.username may not read ${given}; GRANT SELECT ON ${given} is what it needs`,
        { cause: error },
      );
    }
    throw error;
  }
}

/** True for the error of a statement about a missing table, also in the form that `readForeignSchema` throws. */
export function isMissingTable(error: unknown): boolean {
  return (
    isAnswer(error, [MISSING_TABLE, MISSING_DATABASE]) ||
    (error instanceof AppError && isMissingTable(error.cause))
  );
}

function isAnswer(error: unknown, codes: readonly string[]): boolean {
  return (
    error instanceof AppError && error.cause instanceof ClickHouseError && codes.includes(error.cause.code)
  );
}

function quoted(given: string): string {
  return given.split('.').map(quoteName).join('.');
}

/** Form of attributes in a table: maps of strings, or ClickHouse's JSON type with the keys in an additional column. */
export type AttributeKind = 'map' | 'json';

/** The kind by the column's type; null for a type that holds no attributes. */
export function attributeKind(type: string): AttributeKind | null {
  if (type.startsWith('Map(')) {
    return 'map';
  }
  return type === 'JSON' || type.startsWith('JSON(') ? 'json' : null;
}

/**
 * Settings of a subquery that writes JSON columns as text: numbers as numbers, and no more escapes than JSON needs, so that
 * lists read as they were sent.
 */
export const JSON_TEXT_SETTINGS =
  'SETTINGS output_format_json_quote_64bit_integers = 0, output_format_json_escape_forward_slashes = 0';

/** SQL for one column of attributes of the table that is named `origin`. */
export interface AttributeColumn {
  /** Expression that `toAttributes` reads: the map itself, or JSON text and its keys. */
  readonly selected: string;
  /** An array of the keys. */
  readonly keys: string;
  /** The text of one value; '' where it is absent. `key` is an SQL expression that is constant in a query. */
  value(key: string): string;
}

/** `columns` are all columns of the table. */
export function attributeColumn(
  name: string,
  kind: AttributeKind,
  columns: ReadonlySet<string>,
): AttributeColumn {
  const column = `origin.${name}`;
  if (kind === 'map') {
    return { selected: column, keys: `mapKeys(${column})`, value: (key) => `${column}[${key}]` };
  }
  const keys = columns.has(`${name}Keys`) ? `origin.${name}Keys` : `JSONAllPaths(${column})`;
  return {
    selected: `(toString(${column}), ${keys})`,
    keys,
    value: (key) => `ifNull(toString(getSubcolumn(${column}, ${key})), '')`,
  };
}

/** SQL for a column of lists of attributes (of events, of links), for `toAttributes`. */
export function attributeLists(name: string, kind: AttributeKind): string {
  const column = `origin.\`${name}\``;
  return kind === 'map' ? column : `arrayMap(each -> (toString(each), JSONAllPaths(each)), ${column})`;
}

/** Returns an SQL expression for a text in attributes that are selected as JSON text and keys. A dot in a key is a level. */
export function valueOfJsonText(attributes: string, key: string): string {
  const path = key.split('.').map((name) => `'${name}'`);
  return `JSONExtractString(tupleElement(${attributes}, 1), ${path.join(', ')})`;
}
