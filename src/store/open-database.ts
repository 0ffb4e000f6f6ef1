import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  type ClickHouseClient,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  createClient,
} from '@clickhouse/client';
import { signalsWith } from '../conventions/agent-signals.ts';
import { HOUR_MS, SECOND_MS } from '../domain/durations.ts';
import { type AppError, ConfigError } from '../domain/errors.ts';
import type { ReadingTerms } from '../domain/trace/span.ts';
import type { Database, StreamedRow } from './database.ts';
import { OWN_APPLICATION } from './embedded/engine-request.ts';
import { type Send, sendToReplicas, sendToServer } from './replicated.ts';
import { signalsFromTheStart } from './spans/agent-signal-sql.ts';
import { toLimitedReadError, toStatementError, toStoreError } from './store-error.ts';
import { type QueryParams, toRowJson } from './values.ts';

/** Time limit of the server for one statement, in seconds, for reads and inserts. */
const MAX_EXECUTION_TIME_S = 30;

/** Time that the client waits longer than the server's time limit, so that the error of the server is seen, milliseconds. */
const ANSWER_GRACE_MS = 15_000;

/** Sockets for reads and small writes. Inserts of spans have their own pool, so that neither blocks the other. */
const MAX_CONNECTIONS = 12;
const MAX_INSERT_CONNECTIONS = 8;

export interface ClientOptions {
  /** `http://host:port` or `https://…`. */
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** Time limit of one statement, milliseconds; default 30 s. */
  readonly statementLimitMs?: number;
}

export interface DatabaseOptions extends ClientOptions {
  readonly database: string;
  /** True for tables that several servers replicate. */
  readonly replicated?: boolean;
  /** Settings with which every trace is read. */
  readonly reading?: ReadingTerms;
}

const READ_SETTINGS: ClickHouseSettings = {
  output_format_json_quote_64bit_integers: 0,
  output_format_json_quote_denormals: 1,
  // With FINAL, only conditions on the key of a table are moved: they do not tell versions of a row apart.
  optimize_move_to_prewhere_if_final: 1,
};

/** Setting of a read whose rows come together: the embedded engine runs it beside its event loop, which a stream would block. */
const WHOLE: ClickHouseSettings = { wait_end_of_query: 1 };

/** Settings of a result of any size: the store keeps it on disk until it is complete. */
const LARGE: ClickHouseSettings = { ...WHOLE, buffer_size: '1048576' };

/** Longest time of a statement with a large result. */
const EXPORT_TIMEOUT_MS = 6 * HOUR_MS;

const INSERT_SETTINGS: ClickHouseSettings = {
  async_insert: 0,
  deduplicate_blocks_in_dependent_materialized_views: 1,
  // Merges build the indexes: a new part has few rows, and its index takes a quarter of the time of its insert.
  materialize_skip_indexes_on_insert: 0,
};

/** Application of a client with the statement of a person. */
const USER_APPLICATION = 'spanscore-sql';

/** Returns the time limit of one statement, milliseconds. */
function limitMs({ statementLimitMs = MAX_EXECUTION_TIME_S * SECOND_MS }: ClientOptions): number {
  return statementLimitMs;
}

/** Creates a pool of connections without sending a request. Throws a `ConfigError` for a URL that is none. */
function createDatabaseClient(
  options: ClientOptions,
  maxConnections: number,
  database: string,
  requestTimeoutMs = limitMs(options) + ANSWER_GRACE_MS,
  application = OWN_APPLICATION,
): ClickHouseClient {
  try {
    return createClient({
      url: options.url,
      username: options.username,
      password: options.password,
      database,
      application,
      max_open_connections: maxConnections,
      request_timeout: requestTimeoutMs,
      keep_alive: { enabled: true },
      use_multipart_params_auto: true,
      log: { level: ClickHouseLogLevel.OFF },
    });
  } catch (error) {
    throw new ConfigError('store.url: not a URL of a ClickHouse HTTP port (http://host:8123)', {}, error);
  }
}

/** Connection for statements. */
interface Connection {
  readonly client: ClickHouseClient;
  readonly send: Send;
  /** Settings of each statement. Settings of replicated tables go before them. */
  readonly settings: ClickHouseSettings;
  readonly toError: (thrown: unknown, doing: string) => AppError;
}

/** Opens the pools without sending a request. Throws a `ConfigError` for a database name that is no plain identifier. */
export function openDatabase(options: DatabaseOptions): Database {
  const { database: name, replicated = false, reading = {} } = options;
  checkName(name);
  const limit = { max_execution_time: limitMs(options) / SECOND_MS };
  const open: Connection[] = [];
  const connect = (maxConnections: number, settings: ClickHouseSettings, database = name): Connection => {
    const client = createDatabaseClient(options, maxConnections, database);
    const send = replicated ? sendToReplicas : sendToServer;
    const connection = { client, send, settings, toError: toStoreError };
    open.push(connection);
    return connection;
  };
  const outside = connect(1, { ...READ_SETTINGS, ...limit }, 'default');
  const main = connect(MAX_CONNECTIONS, { ...READ_SETTINGS, ...limit });
  const inserter = connect(MAX_INSERT_CONNECTIONS, { ...INSERT_SETTINGS, ...limit });
  const signals = signalsWith(reading.conventions);
  const database: Database = {
    name,
    isReplicated: replicated,
    outside: buildStatements(outside),
    reading,
    signals,
    agentSignals: signalsFromTheStart(signals),
    ...buildStatements(main),
    ...buildInserts(main, inserter),
    bytes: (sql, params) => {
      const client = createDatabaseClient(options, 1, name, EXPORT_TIMEOUT_MS);
      const settings = { ...LARGE, max_execution_time: EXPORT_TIMEOUT_MS / SECOND_MS };
      return readBytes({ ...main, client, settings }, sql, { query_params: params });
    },
    userStatementBytes: (sql, { settings, timeoutMs, signal }) => {
      const client = createDatabaseClient(options, 1, name, timeoutMs, USER_APPLICATION);
      const connection = { ...main, client, settings: { ...LARGE, ...settings }, toError: toStatementError };
      return readBytes(connection, sql, { abort_signal: signal });
    },
    limitReads: ({ maxSeconds, maxBytes }) => {
      const limits = { max_execution_time: maxSeconds, max_memory_usage: String(maxBytes) };
      const limited = connect(MAX_CONNECTIONS, { ...READ_SETTINGS, ...limits });
      const { rows, stream } = buildStatements({ ...limited, toError: toLimitedReadError });
      return { ...database, rows, stream };
    },
    ping: async () => {
      const result = await outside.client.ping({ select: true });
      if (!result.success) {
        throw toStoreError(result.error, 'asking whether it is there');
      }
    },
    close: async () => {
      await Promise.all(open.map(({ client }) => client.close()));
    },
  };
  return database;
}

/** Throws a `ConfigError` for a database name that is no plain identifier. */
function checkName(database: string): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(database)) {
    throw new ConfigError(
      `store.database: "${database}" is not a valid name; use letters, digits and _ (at most 64), and do not start with a digit`,
    );
  }
}

/** Sends a statement, and converts its error. */
async function run<T>(
  { client, send, settings, toError }: Connection,
  { sql, doing }: { readonly sql: string; readonly doing: string },
  request: (client: ClickHouseClient, settings: ClickHouseSettings) => Promise<T>,
): Promise<T> {
  try {
    return await send(sql, (own) => request(client, { ...settings, ...own }));
  } catch (error) {
    throw toError(error, doing);
  }
}

function buildStatements(connection: Connection): Pick<Database, 'rows' | 'stream' | 'command'> {
  return {
    rows: <Row>(sql: string, params?: QueryParams) =>
      run(connection, { sql, doing: `reading (${shortenSql(sql)})` }, async (client, settings) => {
        const result = await client.query({
          query: sql,
          format: 'JSONEachRow',
          clickhouse_settings: { ...settings, ...WHOLE },
          ...(params === undefined ? {} : { query_params: params }),
        });
        return result.json<Row>();
      }),
    stream: (sql, params) => streamRows(connection, sql, params),
    command: (sql, settings) =>
      run({ ...connection, settings: {} }, { sql, doing: `running (${shortenSql(sql)})` }, (client, own) =>
        client.command({ query: sql, clickhouse_settings: { ...own, ...settings } }).then(() => undefined),
      ),
  };
}

function buildInserts(
  main: Connection,
  inserter: Connection,
): Pick<Database, 'insertRows' | 'insertSelected' | 'insertBody'> {
  return {
    insertRows: async (table, rows, token) => {
      if (rows.length > 0) {
        const body = Buffer.from(rows.map(toRowJson).join('\n'));
        const statement = {
          sql: `INSERT INTO ${table} FORMAT JSONEachRow`,
          doing: `inserting ${rows.length} rows into ${table}`,
        };
        await insert(
          { ...main, settings: inserter.settings },
          statement,
          [body],
          token ?? hashRows(table, body),
        );
      }
    },
    insertSelected: async (sql, params) => {
      await run(inserter, { sql, doing: `inserting (${shortenSql(sql)})` }, (client, settings) =>
        client.command({ query: sql, query_params: params, clickhouse_settings: settings }),
      );
    },
    insertBody: (sql, chunks, token) =>
      insert(inserter, { sql, doing: `inserting (${shortenSql(sql)})` }, chunks, token),
  };
}

/** Sends the body of an insert. */
function insert(
  connection: Connection,
  statement: { readonly sql: string; readonly doing: string },
  chunks: readonly Uint8Array[],
  token: string,
): Promise<void> {
  return run(connection, statement, async (client, settings) => {
    const { stream } = await client.exec({
      query: statement.sql,
      values: Readable.from(chunks, { objectMode: false }),
      clickhouse_settings: { insert_deduplication_token: token, ...settings },
    });
    for await (const _ of stream) {
      // An insert has no result; reading to the end returns the socket to the pool.
    }
  });
}

/** A row as its JSON text. Throws for a text that is no row: a server that fails writes its error in the place of one. */
class JsonRow implements StreamedRow {
  readonly text: string;

  constructor(text: string) {
    if (!text.startsWith('[') || !text.endsWith(']')) {
      throw new SyntaxError(text.slice(0, MAX_FAULT_CHARS));
    }
    this.text = text;
  }

  get columns(): unknown[] {
    return JSON.parse(this.text) as unknown[];
  }
}

/** Most characters of a reply that is no row, in an error. */
const MAX_FAULT_CHARS = 500;

async function* streamRows(
  { client, send, settings, toError }: Connection,
  sql: string,
  params: QueryParams | undefined,
): AsyncGenerator<StreamedRow[]> {
  try {
    const result = await send(sql, (own) =>
      client.query({
        query: sql,
        format: 'JSONCompactEachRow',
        clickhouse_settings: { ...settings, output_format_json_quote_64bit_integers: 1, ...own },
        ...(params === undefined ? {} : { query_params: params }),
      }),
    );
    for await (const batch of result.stream()) {
      yield batch.map(({ text }) => new JsonRow(text));
    }
  } catch (error) {
    throw toError(error, `reading (${shortenSql(sql)})`);
  }
}

/** Reads a result of any size, over a connection of its own: it may take longer than other statements. */
async function* readBytes(
  { client, send, settings, toError }: Connection,
  sql: string,
  options: { readonly query_params?: QueryParams; readonly abort_signal?: AbortSignal },
): AsyncGenerator<Uint8Array> {
  try {
    options.abort_signal?.throwIfAborted();
    const { stream } = await send(sql, (own) =>
      client.exec({ query: sql, clickhouse_settings: { ...own, ...settings }, ...options }),
    );
    yield* stream as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw toError(error, `reading (${shortenSql(sql)})`);
  } finally {
    await client.close();
  }
}

function hashRows(table: string, body: Uint8Array): string {
  return createHash('sha256').update(table).update(body).digest('hex');
}

const HEAD_LENGTH = 60;

function shortenSql(sql: string): string {
  const text = sql.replaceAll(/\s+/g, ' ').trim();
  return text.length > HEAD_LENGTH ? `${text.slice(0, HEAD_LENGTH)}…` : text;
}
