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
import type { ReadLimits } from './contracts/store.ts';
import type { Database, GuestTerms, StreamedRow } from './database.ts';
import { OWN_APPLICATION } from './embedded/engine-request.ts';
import { type Send, sendToReplicas, sendToServer } from './replicated.ts';
import { signalsFromTheStart } from './spans/agent-signal-sql.ts';
import { toLimitedReadError, toStatementError, toStoreError } from './store-error.ts';
import { type QueryParams, toRowJson } from './values.ts';

/** Time limit of the server for one statement, in seconds, for reads and inserts. */
export const MAX_EXECUTION_TIME_S = 30;

/** Time that the client waits longer than the server's time limit, so that the error of the server is seen, milliseconds. */
const ANSWER_GRACE_MS = 15_000;

export interface ClientOptions {
  /** `http://host:port` or `https://…`. */
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** Time limit of one statement, milliseconds; default 30 s. */
  readonly statementLimitMs?: number;
}

/** Returns the time limit of one statement, milliseconds. */
export function limitMs({ statementLimitMs = MAX_EXECUTION_TIME_S * SECOND_MS }: ClientOptions): number {
  return statementLimitMs;
}

/** Creates a pool of connections without sending a request. Throws a `ConfigError` for a URL that is none. */
export function createDatabaseClient(
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
      json: { stringify: toRowJson },
      log: { level: ClickHouseLogLevel.OFF },
    });
  } catch (error) {
    throw new ConfigError('store.url: not a URL of a ClickHouse HTTP port (http://host:8123)', {}, error);
  }
}

/** Sockets for reads and small writes. Inserts of spans have their own pool, so that neither blocks the other. */
const MAX_CONNECTIONS = 12;
const MAX_INSERT_CONNECTIONS = 8;

export interface DatabaseOptions extends ClientOptions {
  readonly database: string;
  /** True for tables that several servers replicate. */
  readonly replicated?: boolean;
  /** Settings with which every trace is read. */
  readonly reading?: ReadingTerms;
}

const READ_SETTINGS: ClickHouseSettings = {
  max_execution_time: MAX_EXECUTION_TIME_S,
  output_format_json_quote_64bit_integers: 1,
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

/** Statement with its parameters. */
interface Statement {
  readonly sql: string;
  readonly params: QueryParams | undefined;
}

/** Connection for statements. */
interface Connection {
  readonly client: ClickHouseClient;
  readonly send: Send;
}

/** Connection for reads, with the settings and the errors of its reads. */
interface Reader extends Connection {
  readonly settings: ClickHouseSettings;
  readonly toError: (thrown: unknown, doing: string) => AppError;
}

const INSERT_SETTINGS: ClickHouseSettings = {
  async_insert: 0,
  max_execution_time: MAX_EXECUTION_TIME_S,
  deduplicate_blocks_in_dependent_materialized_views: 1,
};

interface Insert {
  readonly settings: ClickHouseSettings;
}

/** Throws a `ConfigError` for a database name that is no plain identifier. */
function checkName({ database }: DatabaseOptions): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(database)) {
    throw new ConfigError(
      `store.database: "${database}" is not a valid name; use letters, digits and _ (at most 64), and do not start with a digit`,
    );
  }
}

/** Returns the limit of the server for each statement. */
function buildTimeLimit(options: DatabaseOptions): ClickHouseSettings {
  return { max_execution_time: limitMs(options) / SECOND_MS };
}

function asReader(connection: Connection, options: DatabaseOptions): Reader {
  return {
    ...connection,
    settings: { ...READ_SETTINGS, ...buildTimeLimit(options) },
    toError: toStoreError,
  };
}

/** Name and kind of the database, with a connection that works before the database is there. */
function openOutside(options: DatabaseOptions): {
  readonly basics: Pick<Database, 'name' | 'isReplicated' | 'outside'>;
  readonly outside: Connection;
} {
  const { database: name, replicated = false } = options;
  const outside: Connection = {
    client: createDatabaseClient(options, 1, 'default'),
    send: replicated ? sendToReplicas : sendToServer,
  };
  const reader = asReader(outside, options);
  const basics = {
    name,
    isReplicated: replicated,
    outside: {
      rows: <Row>(sql: string, params?: QueryParams) => readRows<Row>(reader, { sql, params }),
      command: (sql: string, settings?: ClickHouseSettings) => runCommand(outside, sql, settings),
    },
  };
  return { basics, outside };
}

/** Opens the pools without sending a request. Throws a `ConfigError` for a database name that is no plain identifier. */
export function openDatabase(options: DatabaseOptions): Database {
  checkName(options);
  const { basics, outside } = openOutside(options);
  const connect = (maxConnections: number): Connection => ({
    client: createDatabaseClient(options, maxConnections, options.database),
    send: outside.send,
  });
  const main = connect(MAX_CONNECTIONS);
  const reader = asReader(main, options);
  const inserting = { ...INSERT_SETTINGS, ...buildTimeLimit(options) };
  const inserter = connect(MAX_INSERT_CONNECTIONS);
  const limited: Connection[] = [];
  const { reading = {} } = options;
  const signals = signalsWith(reading.conventions);
  const database: Database = {
    ...basics,
    reading,
    signals,
    agentSignals: signalsFromTheStart(signals),
    rows: (sql, params) => readRows(reader, { sql, params }),
    stream: (sql, params) => streamRows(reader, { sql, params }),
    bytes: (sql, params) => readBytes(options, main.send, { sql, params }),
    guestBytes: (sql, guest) => readGuestBytes(options, main.send, sql, guest),
    command: (sql, settings) => runCommand(main, sql, settings),
    insertRows: (table, rows, token) => insertJson(main, { table, rows, settings: inserting, token }),
    insertSelected: (statement, params) =>
      insertSelected(inserter, { statement, params, settings: inserting }),
    insertBody: (statement, chunks, token) =>
      insertBinary(inserter, {
        statement,
        chunks,
        settings: { ...inserting, insert_deduplication_token: token },
      }),
    limitReads: (limits) => {
      const own = connect(MAX_CONNECTIONS);
      limited.push(own);
      const limitedReader = { ...own, settings: buildLimits(limits), toError: toLimitedReadError };
      return {
        ...database,
        rows: (sql, params) => readRows(limitedReader, { sql, params }),
        stream: (sql, params) => streamRows(limitedReader, { sql, params }),
      };
    },
    ping: () => ping(outside.client),
    close: async () => {
      await Promise.all([main, inserter, outside, ...limited].map(({ client }) => client.close()));
    },
  };
  return database;
}

function buildLimits({ maxSeconds, maxBytes }: ReadLimits): ClickHouseSettings {
  return { ...READ_SETTINGS, max_execution_time: maxSeconds, max_memory_usage: String(maxBytes) };
}

async function readRows<Row>(
  { client, send, settings, toError }: Reader,
  { sql, params }: Statement,
): Promise<Row[]> {
  try {
    return await send(sql, async (own) => {
      const result = await client.query({
        query: sql,
        format: 'JSONEachRow',
        clickhouse_settings: { ...settings, ...WHOLE, ...own },
        ...(params === undefined ? {} : { query_params: params }),
      });
      return result.json<Row>();
    });
  } catch (error) {
    throw toError(error, `reading (${shortenSql(sql)})`);
  }
}

async function* streamRows(
  { client, send, settings, toError }: Reader,
  { sql, params }: Statement,
): AsyncGenerator<StreamedRow[]> {
  try {
    const result = await send(sql, (own) =>
      client.query({
        query: sql,
        format: 'JSONCompactEachRow',
        clickhouse_settings: { ...settings, ...own },
        ...(params === undefined ? {} : { query_params: params }),
      }),
    );
    for await (const batch of result.stream()) {
      yield batch.map((row) => ({ size: row.text.length, columns: JSON.parse(row.text) as unknown[] }));
    }
  } catch (error) {
    throw toError(error, `reading (${shortenSql(sql)})`);
  }
}

/** Reads a result of any size, over a connection of its own: it may take longer than other statements. */
async function* readBytes(
  options: DatabaseOptions,
  send: Send,
  { sql, params }: Statement,
): AsyncGenerator<Uint8Array> {
  const client = createDatabaseClient(options, 1, options.database, EXPORT_TIMEOUT_MS);
  try {
    const { stream } = await send(sql, (own) =>
      client.exec({
        query: sql,
        ...(params === undefined ? {} : { query_params: params }),
        clickhouse_settings: { ...LARGE, max_execution_time: EXPORT_TIMEOUT_MS / SECOND_MS, ...own },
      }),
    );
    yield* stream as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw toStoreError(error, `reading (${shortenSql(sql)})`);
  } finally {
    await client.close();
  }
}

/** Application of a client with the statement of a person. */
const GUEST_APPLICATION = 'spanscore-sql';

async function* readGuestBytes(
  options: DatabaseOptions,
  send: Send,
  sql: string,
  { settings, timeoutMs, signal }: GuestTerms,
): AsyncGenerator<Uint8Array> {
  const client = createDatabaseClient(options, 1, options.database, timeoutMs, GUEST_APPLICATION);
  try {
    signal.throwIfAborted();
    const { stream } = await send(sql, (own) =>
      client.exec({
        query: sql,
        clickhouse_settings: { ...LARGE, ...own, ...settings },
        abort_signal: signal,
      }),
    );
    yield* stream as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw toStatementError(error);
  } finally {
    await client.close();
  }
}

async function runCommand(
  { client, send }: Connection,
  sql: string,
  settings?: ClickHouseSettings,
): Promise<void> {
  try {
    await send(sql, (own) => client.command({ query: sql, clickhouse_settings: { ...own, ...settings } }));
  } catch (error) {
    throw toStoreError(error, `running (${shortenSql(sql)})`);
  }
}

async function insertJson(
  { client, send }: Connection,
  {
    table,
    rows,
    settings,
    token = hashRows(table, rows),
  }: Insert & {
    readonly table: string;
    readonly rows: readonly object[];
    readonly token?: string | undefined;
  },
): Promise<void> {
  if (rows.length === 0) {
    return;
  }
  const values = [...rows];
  try {
    await send(`INSERT INTO ${table}`, (own) =>
      client.insert({
        table,
        values,
        format: 'JSONEachRow',
        clickhouse_settings: { ...settings, insert_deduplication_token: token, ...own },
      }),
    );
  } catch (error) {
    throw toStoreError(error, `inserting ${rows.length} rows into ${table}`);
  }
}

function hashRows(table: string, rows: readonly object[]): string {
  return createHash('sha256').update(table).update(JSON.stringify(rows)).digest('hex');
}

async function insertSelected(
  { client, send }: Connection,
  { statement, params, settings }: Insert & { readonly statement: string; readonly params: QueryParams },
): Promise<void> {
  try {
    await send(statement, (own) =>
      client.command({
        query: statement,
        query_params: params,
        clickhouse_settings: { ...settings, ...own },
      }),
    );
  } catch (error) {
    throw toStoreError(error, `inserting (${shortenSql(statement)})`);
  }
}

async function insertBinary(
  { client, send }: Connection,
  {
    statement,
    chunks,
    settings,
  }: Insert & { readonly statement: string; readonly chunks: readonly Uint8Array[] },
): Promise<void> {
  try {
    const { stream } = await send(statement, (own) =>
      client.exec({
        query: statement,
        values: Readable.from(chunks, { objectMode: false }),
        clickhouse_settings: { ...settings, ...own },
      }),
    );
    for await (const _ of stream) {
      // An insert has no result; reading to the end returns the socket to the pool.
    }
  } catch (error) {
    throw toStoreError(error, `inserting (${shortenSql(statement)})`);
  }
}

async function ping(client: ClickHouseClient): Promise<void> {
  const result = await client.ping({ select: true });
  if (!result.success) {
    throw toStoreError(result.error, 'asking whether it is there');
  }
}

const HEAD_LENGTH = 60;

function shortenSql(sql: string): string {
  const text = sql.replaceAll(/\s+/g, ' ').trim();
  return text.length > HEAD_LENGTH ? `${text.slice(0, HEAD_LENGTH)}…` : text;
}
