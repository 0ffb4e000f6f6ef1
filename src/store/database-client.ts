import { ClickHouseLogLevel, createClient, type ClickHouseClient } from '@clickhouse/client';
import { SECOND_MS } from '../domain/durations.ts';
import { ConfigError } from '../domain/errors.ts';
import { OWN_APPLICATION } from './embedded/engine-request.ts';
import { toRowJson } from './values.ts';

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
