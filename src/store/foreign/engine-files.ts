import { ConfigError } from '../../domain/errors.ts';
import type { FilePlace, FileRows, ListedFile } from '../contracts/sources.ts';
import type { Database } from '../database.ts';
import type { QueryParams } from '../values.ts';
import { COUNTS, END, eventName, KIND, START, STATUS } from './foreign-rows.ts';
import { LOG_COLUMNS, SPAN_COLUMNS } from './foreign-schema.ts';

/** A server of S3 that is away is tried again at the next look, not by the statement. */
const FEW_RETRIES = 's3_retry_attempts = 2';

/** One thread reads a file in the order of its rows, so that a place in it stays the same. */
const SETTINGS = `SETTINGS max_threads = 1, input_format_parquet_preserve_order = 1, ${FEW_RETRIES},
  output_format_json_quote_64bit_integers = 0, output_format_json_named_tuples_as_objects = 1`;

const S3 = 's3://';

/**
 * Creates the reader of files by functions of the engine: Parquet with the columns of the tables of the OpenTelemetry Collector's
 * exporter, and lines of JSON in S3.
 */
export function createEngineFiles(database: Database) {
  return {
    /** Lists the files in S3 that match the pattern of a place. */
    list: (place: FilePlace): Promise<ListedFile[]> => {
      const { table, params } = readTable(place, 'One');
      return database.rows(
        `SELECT concat('${S3}', _path) AS path, toFloat64(_size) AS size, toUnixTimestamp(_time) * 1000 AS changedMs
         FROM ${table} ORDER BY path SETTINGS ${FEW_RETRIES}`,
        params,
      );
    },
    /** Reads at most so many lines of a file from a line on. The order of the lines is the same at each read. */
    read: async (place: FilePlace, from: number, most: number): Promise<FileRows> => {
      const isParquet = /\.parquet$/iu.test(place.path);
      const { list, statement, params } = isParquet
        ? await selectParquet(database, place)
        : selectLines(place);
      const [range, format] = [
        'LIMIT {most:UInt64} OFFSET {from:UInt64}',
        isParquet ? 'JSONEachRow' : 'TSVRaw',
      ];
      const bytes = database.bytes(`${statement} ${range} ${SETTINGS} FORMAT ${format}`, {
        ...params,
        most,
        from,
      });
      return { list, bytes };
    },
  };
}

export type EngineFiles = ReturnType<typeof createEngineFiles>;

interface Selected {
  readonly list: FileRows['list'];
  readonly statement: string;
  readonly params: QueryParams;
}

/** Returns the function of the engine that reads a file. Its keys are parameters, which no error shows. */
function readTable({ path, s3: server = {} }: FilePlace, format: string, structure?: string) {
  const isInS3 = path.startsWith(S3);
  const base = server.endpoint === undefined ? S3 : `${server.endpoint.replace(/\/+$/u, '')}/`;
  const known = {
    path: isInS3 ? `${base}${path.slice(S3.length)}` : path,
    keyId: server.accessKeyId,
    secret: server.secretAccessKey,
    token: server.sessionToken,
    format,
    structure,
  };
  const params = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined));
  const given = Object.keys(params).map((name) => `{${name}:String}`);
  return { table: `${isInS3 ? 's3' : 'file'}(${given.join(', ')})`, params };
}

function selectLines(place: FilePlace): Selected {
  const { table, params } = readTable(place, 'LineAsString', 'line String');
  return { list: undefined, statement: `SELECT line FROM ${table}`, params };
}

const ATTRIBUTES = 'Map(String, String)';
const TIME = "DateTime64(9, 'UTC')";

/** Types of the columns that are no texts. */
const TYPES: Readonly<Record<string, string>> = {
  Timestamp: TIME,
  Duration: 'UInt64',
  SeverityNumber: 'Int32',
  ResourceAttributes: ATTRIBUTES,
  SpanAttributes: ATTRIBUTES,
  LogAttributes: ATTRIBUTES,
  'Events.Timestamp': `Array(${TIME})`,
  'Events.Attributes': `Array(${ATTRIBUTES})`,
  'Links.Attributes': `Array(${ATTRIBUTES})`,
};

/** Selects rows of Parquet as members of an export request in JSON. */
async function selectParquet(database: Database, place: FilePlace): Promise<Selected> {
  const described = readTable(place, 'Parquet');
  const found = await database.rows<{ name: string; type: string }>(
    `DESCRIBE TABLE ${described.table} SETTINGS ${FEW_RETRIES}`,
    described.params,
  );
  const columns = new Set(found.map(({ name }) => name));
  const isLogs = columns.has('LogAttributes');
  const needed = isLogs ? LOG_COLUMNS : SPAN_COLUMNS;
  const missing = needed.filter((name) => !columns.has(name) && !columns.has(name.split('.')[0] ?? ''));
  if (missing.length > 0) {
    throw new ConfigError(
      `has no column ${missing.join(', ')}: write a table of the OpenTelemetry Collector's ClickHouse exporter into it`,
    );
  }
  const read = [...needed, ...['EventName'].filter((name) => columns.has(name))];
  const structure = read
    .map((name) => `\`${name}\` ${TYPES[name] ?? (name.includes('.') ? 'Array(String)' : 'String')}`)
    .join(', ');
  const { table, params } = readTable(place, 'Parquet', structure);
  const row = isLogs ? logRow(columns) : SPAN_ROW;
  return {
    list: isLogs ? 'resourceLogs' : 'resourceSpans',
    statement: `SELECT ${row} FROM ${table} AS origin WHERE ${isLogs ? '1' : COUNTS}`,
    params,
  };
}

/** Returns the columns of a resource with one record. `record` and its type have the members in the same order. */
function resourceOf(records: 'spans' | 'logRecords', record: readonly (readonly [string, string, string])[]) {
  const members = record.map(([, , sql]) => sql).join(',\n');
  const types = record.map(([name, type]) => `${name} ${type}`).join(', ');
  const scoped = `Array(Tuple(scope Tuple(name String, version String), ${records} Array(Tuple(${types}))))`;
  const list = records === 'spans' ? 'scopeSpans' : 'scopeLogs';
  return `CAST(tuple(if(origin.ServiceName = '' OR mapContains(origin.ResourceAttributes, 'service.name'),
      origin.ResourceAttributes, mapConcat(map('service.name', origin.ServiceName), origin.ResourceAttributes))),
      'Tuple(attributes ${ATTRIBUTES})') AS resource,
    CAST([tuple(tuple(origin.ScopeName, origin.ScopeVersion), [tuple(${members})])], '${scoped}') AS ${list}`;
}

const SPAN_ROW = resourceOf('spans', [
  ['traceId', 'String', 'origin.TraceId'],
  ['spanId', 'String', 'origin.SpanId'],
  ['parentSpanId', 'String', 'origin.ParentSpanId'],
  ['traceState', 'String', 'origin.TraceState'],
  ['name', 'String', 'origin.SpanName'],
  ['kind', 'String', `concat('SPAN_KIND_', upper(${KIND}))`],
  ['startTimeUnixNano', 'String', `toString(${START})`],
  ['endTimeUnixNano', 'String', `toString(${END})`],
  ['attributes', ATTRIBUTES, 'origin.SpanAttributes'],
  [
    'status',
    'Tuple(code String, message String)',
    `tuple(concat('STATUS_CODE_', upper(${STATUS})), origin.StatusMessage)`,
  ],
  [
    'events',
    `Array(Tuple(timeUnixNano String, name String, attributes ${ATTRIBUTES}))`,
    `arrayMap((at, name, attributes) -> tuple(toString(toUnixTimestamp64Nano(at)), name, attributes),
      origin.\`Events.Timestamp\`, origin.\`Events.Name\`, origin.\`Events.Attributes\`)`,
  ],
  [
    'links',
    `Array(Tuple(traceId String, spanId String, traceState String, attributes ${ATTRIBUTES}))`,
    'arrayZip(origin.`Links.TraceId`, origin.`Links.SpanId`, origin.`Links.TraceState`, origin.`Links.Attributes`)',
  ],
]);

function logRow(columns: ReadonlySet<string>): string {
  return resourceOf('logRecords', [
    ['timeUnixNano', 'String', `toString(${START})`],
    ['traceId', 'String', 'origin.TraceId'],
    ['spanId', 'String', 'origin.SpanId'],
    ['severityText', 'String', 'origin.SeverityText'],
    ['severityNumber', 'Int32', 'origin.SeverityNumber'],
    ['body', 'String', 'origin.Body'],
    ['attributes', ATTRIBUTES, 'origin.LogAttributes'],
    ['eventName', 'String', eventName({ name: '', columns, attributes: 'map', ordered: false })],
  ]);
}
