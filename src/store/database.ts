import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  ClickHouseLogLevel,
  createClient,
  type ClickHouseClient,
  type ClickHouseSettings,
} from '@clickhouse/client';
import { HOUR_MS, SECOND_MS } from '../domain/durations.ts';
import { ConfigError, type AppError } from '../domain/errors.ts';
import { AGENT_SIGNALS } from '../conventions/agent-signals.ts';
import { signalsFromTheStart, type KnownSignals } from './spans/agent-signal-sql.ts';
import type { ReadLimits } from './contracts/store.ts';
import type { Cluster } from './cluster/cluster.ts';
import { clusterSettings, readsState } from './cluster/cluster-settings.ts';
import { nameShards } from './cluster/name-shards.ts';
import { retryState } from './cluster/retry-state.ts';
import { toLimitedReadError, toStoreError } from './store-error.ts';
import type { QueryParams } from './query-params.ts';
import { toRowJson } from './values.ts';

/** Time limit of the server for one statement, in seconds, for reads and inserts. */
export const MAX_EXECUTION_TIME_S = 30;
/** Time that the client waits longer than the server's time limit, so that the error of the server is seen, milliseconds. */
const ANSWER_GRACE_MS = 15_000;
/** Sockets for reads and small writes. Inserts of spans have their own pool, so that neither blocks the other. */
const MAX_CONNECTIONS = 12;
const MAX_INSERT_CONNECTIONS = 8;

export interface DatabaseOptions {
  /** `http://host:port` or `https://…`. */
  readonly url: string;
  readonly username: string;
  readonly password: string;
  readonly database: string;
  /** Time limit of one statement, milliseconds; default 30 s. */
  readonly statementLimitMs?: number;
  /** Name of the cluster in `system.clusters` on whose servers the tables are. */
  readonly cluster?: string | undefined;
}

/** ClickHouse database over HTTP. Values reach a statement as parameters only. Every error is an `AppError`. */
export interface Database {
  readonly name: string;
  /** Servers with the tables; undefined for a single server. */
  readonly cluster: Cluster | undefined;
  /** Signals that mark arrivals of agents; replaced once the stored signals have been read. */
  agentSignals: KnownSignals;
  /** Returns rows as objects; 64-bit integers are strings. */
  rows<Row>(sql: string, params?: QueryParams): Promise<Row[]>;
  /** Streams rows as arrays of columns, in batches as they arrive. */
  stream(sql: string, params?: QueryParams): AsyncIterable<StreamedRow[]>;
  /** Streams the result of a statement that names its own format. Fails before the first byte, or not at all. */
  bytes(sql: string, params: QueryParams): AsyncIterable<Uint8Array>;
  /** Runs a statement without a result. */
  command(sql: string): Promise<void>;
  /** Like `rows` and `command`, but outside of the database, which may not exist yet. */
  readonly outside: Pick<Database, 'rows' | 'command'>;
  /** Inserts JSON rows in one block; a repeat of the same rows, or of the same token, adds nothing. */
  insertRows(table: string, rows: readonly object[], token?: string): Promise<void>;
  /** Runs an `INSERT INTO … SELECT …`. */
  insertSelected(statement: string, params: QueryParams): Promise<void>;
  /**
   * Inserts a body in a binary format; `statement` is `INSERT INTO … FORMAT …`. A repeat with the same token adds nothing.
   */
  insertBody(statement: string, chunks: readonly Uint8Array[], token: string): Promise<void>;
  /** Returns the same database with reads that have limits of their own and their own connections. It closes with this one. */
  limitReads(limits: ReadLimits): Database;
  /** Checks that the server answers and the password is right. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface StreamedRow {
  /** Length of the row's text in UTF-16 units, close to its size in memory. */
  readonly size: number;
  readonly columns: readonly unknown[];
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
  /** True for the servers of a cluster. */
  readonly isCluster: boolean;
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

/** Opens the pools without sending a request. Throws a `ConfigError` for a database name that is no plain identifier. */
export function openDatabase(options: DatabaseOptions): Database {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(options.database)) {
    throw new ConfigError(
      `store.database: "${options.database}" is not a valid name; use letters, digits and _ (at most 64), and do not start with a digit`,
    );
  }
  const isCluster = options.cluster !== undefined;
  const named = (sql: string, params?: QueryParams) =>
    isCluster ? nameShards(sql, params) : { sql, params };
  const connect = (maxConnections: number, database = options.database): Connection => ({
    client: createDatabaseClient(options, maxConnections, database),
    isCluster,
  });
  const main = connect(MAX_CONNECTIONS);
  const limit = { max_execution_time: limitMs(options) / SECOND_MS };
  const reader = { ...main, settings: { ...READ_SETTINGS, ...limit }, toError: toStoreError };
  const inserting = { ...INSERT_SETTINGS, ...limit };
  const inserter = connect(MAX_INSERT_CONNECTIONS);
  const outside = connect(1, 'default');
  const outsideReader = { ...reader, ...outside };
  const limited: Connection[] = [];
  const database: Database = {
    name: options.database,
    cluster:
      options.cluster === undefined ? undefined : { name: options.cluster, database: options.database },
    agentSignals: signalsFromTheStart(AGENT_SIGNALS),
    rows: (sql, params) => readRows(reader, named(sql, params)),
    stream: (sql, params) => streamRows(reader, named(sql, params)),
    bytes: (sql, params) => readBytes(options, sql, params),
    command: (sql) => runCommand(main, sql),
    outside: {
      rows: (sql, params) => readRows(outsideReader, { sql, params }),
      command: (sql) => runCommand(outside, sql),
    },
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
        rows: (sql, params) => readRows(limitedReader, named(sql, params)),
        stream: (sql, params) => streamRows(limitedReader, named(sql, params)),
      };
    },
    ping: () => ping(outside.client),
    close: async () => {
      await Promise.all([main, inserter, outside, ...limited].map(({ client }) => client.close()));
    },
  };
  return database;
}

function limitMs({ statementLimitMs = MAX_EXECUTION_TIME_S * SECOND_MS }: DatabaseOptions): number {
  return statementLimitMs;
}

function buildLimits({ maxSeconds, maxBytes }: ReadLimits): ClickHouseSettings {
  return { ...READ_SETTINGS, max_execution_time: maxSeconds, max_memory_usage: String(maxBytes) };
}

function createDatabaseClient(
  options: DatabaseOptions,
  maxConnections: number,
  database: string,
  requestTimeoutMs = limitMs(options) + ANSWER_GRACE_MS,
): ClickHouseClient {
  try {
    return createClient({
      url: options.url,
      username: options.username,
      password: options.password,
      database,
      application: 'spanscore',
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

/** Runs a request with the settings of its statement, and repeats it where servers of a cluster were busy. */
async function send<T>(
  isCluster: boolean,
  sql: string,
  request: (settings: ClickHouseSettings) => Promise<T>,
): Promise<T> {
  if (!isCluster) {
    return request({});
  }
  const settings = clusterSettings(sql);
  return readsState(sql) ? retryState(() => request(settings)) : request(settings);
}

async function readRows<Row>(
  { client, isCluster, settings, toError }: Reader,
  { sql, params }: Statement,
): Promise<Row[]> {
  try {
    return await send(isCluster, sql, async (own) => {
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
  { client, isCluster, settings, toError }: Reader,
  { sql, params }: Statement,
): AsyncGenerator<StreamedRow[]> {
  try {
    const result = await send(isCluster, sql, (own) =>
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
  sql: string,
  params: QueryParams,
): AsyncGenerator<Uint8Array> {
  const client = createDatabaseClient(options, 1, options.database, EXPORT_TIMEOUT_MS);
  try {
    const { stream } = await send(options.cluster !== undefined, sql, (own) =>
      client.exec({
        query: sql,
        query_params: params,
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

async function runCommand({ client, isCluster }: Connection, sql: string): Promise<void> {
  try {
    await send(isCluster, sql, (own) => client.command({ query: sql, clickhouse_settings: own }));
  } catch (error) {
    throw toStoreError(error, `running (${shortenSql(sql)})`);
  }
}

async function insertJson(
  { client, isCluster }: Connection,
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
    await send(isCluster, `INSERT INTO ${table}`, (own) =>
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
  { client, isCluster }: Connection,
  { statement, params, settings }: Insert & { readonly statement: string; readonly params: QueryParams },
): Promise<void> {
  try {
    await send(isCluster, statement, (own) =>
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
  { client, isCluster }: Connection,
  {
    statement,
    chunks,
    settings,
  }: Insert & { readonly statement: string; readonly chunks: readonly Uint8Array[] },
): Promise<void> {
  try {
    const { stream } = await send(isCluster, statement, (own) =>
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
