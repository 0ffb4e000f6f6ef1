import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MIB } from '../../domain/byte-sizes.ts';
import { formatMoved, readMoved } from './data-folder.ts';
import { EngineError } from './engine-error.ts';
import type { FailureReason, OpenMessage } from './engine-process.ts';
import { createHttpFront } from './http-front.ts';
import * as limits from './limits.ts';
import { createMutationWaker } from './mutation-waker.ts';
import { type ChdbModule, type ChdbSession, SessionPool } from './session-pool.ts';
import { openReplyFiles, openSpool } from './spool.ts';
import { createStatementRunner, type StatementRunner } from './statement-runner.ts';

/** Interval at which connections without a request are closed during a stop, milliseconds. */
const CLOSE_IDLE_EVERY_MS = 20;

/** Error of an engine that could not be opened or served; the parent acts on its reason. */
export class EngineStartError extends Error {
  override readonly name = 'EngineStartError';
  readonly reason: FailureReason;
  constructor(reason: FailureReason, message: string, cause: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

export type EngineHost = Awaited<ReturnType<typeof startEngineHost>>;

async function loadChdb(moduleName: string): Promise<ChdbModule> {
  try {
    return (await import(moduleName)) as ChdbModule;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new EngineStartError('missing', message, error);
  }
}

function openSession(chdb: ChdbModule, path: string, connectionArgs: readonly string[]): ChdbSession {
  try {
    return new chdb.Session(path, { connectionArgs });
  } catch (error) {
    // chdb does not return the cause: it writes it to standard error only.
    throw new EngineStartError('unopened', error instanceof Error ? error.message : String(error), error);
  }
}

function openPools(open: () => ChdbSession) {
  const { MAX_WAITING: maxWaiting } = limits;
  return {
    queries: new SessionPool(open, { size: limits.QUERY_SESSIONS, maxWaiting }),
    clients: new SessionPool(open, { size: limits.CLIENT_SESSIONS, maxWaiting }),
    inserts: new SessionPool(open, { size: limits.INSERT_SESSIONS, maxWaiting }),
  };
}

/** Runs statements one after the other in their own session. */
function serialised(session: ChdbSession): (sql: string) => Promise<unknown> {
  let tail: Promise<unknown> = Promise.resolve();
  return (sql) => {
    const run = tail.then(() => session.queryAsync(sql, { format: 'Null' }));
    tail = run.catch(() => undefined);
    return run;
  };
}

async function listening(server: ReturnType<typeof createHttpFront>, port: number): Promise<number> {
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  } catch (error) {
    throw new EngineStartError('port', `Cannot listen on 127.0.0.1:${port}: ${String(error)}`, error);
  }
}

/** Waits until the last replies are sent: a statement ends before its reply has left the process. */
async function finishReplies(
  server: ReturnType<typeof createHttpFront>,
  closed: Promise<true>,
): Promise<void> {
  const closing = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
  await Promise.race([closed, sleep(limits.REPLIES_MS)]);
  clearInterval(closing);
}

/** Returns a runner that only reads for a store that was moved. */
function refuseWritesIfMoved(dataDir: string, run: StatementRunner): StatementRunner {
  const moved = readMoved(dataDir);
  return moved === undefined
    ? run
    : async (request, signal) => {
        if (!['read', 'session'].includes(request.statement.kind)) {
          throw new EngineError('READONLY', formatMoved(moved));
        }
        return run(request, signal);
      };
}

/** Returns a runner that wakes tables whose rows a statement rewrites. */
function wakeRewrites(waker: ReturnType<typeof createMutationWaker>, run: StatementRunner): StatementRunner {
  return (request, signal) => {
    const running = run(request, signal);
    if (/^\s*ALTER\b/iu.test(request.statement.sql)) {
      waker.watch(running);
    }
    return running;
  };
}

/**
 * Opens chdb on a directory and serves it. Calls `onFatal` when only a new process helps: the engine is broken, or a statement cannot be
 * ended.
 */
export async function startEngineHost(options: OpenMessage, onFatal: () => void) {
  const chdb = await loadChdb(options.chdbModule);
  const configFile = await writeEngineConfig(options.dataDir);
  const connectionArgs = engineArguments(options.memoryLimitBytes, configFile);
  const open = (): ChdbSession => openSession(chdb, options.enginePath, connectionArgs);
  const control = open();
  const pools = openPools(open);
  const waker = createMutationWaker(open());
  const allPools = Object.values(pools);
  const spool = await openSpool(options.dataDir, {
    maxFileBytes: limits.MAX_INSERT_BYTES,
    maxTotalBytes: limits.MAX_SPOOLED_BYTES,
  });
  const replies = await openReplyFiles(options.dataDir);
  const lent = {
    control: serialised(control),
    replies,
    replaceProcess: (reason: string) => {
      process.stderr.write(`${reason}\n`);
      // The client of the statement gets its error first.
      setTimeout(onFatal, limits.LAST_REPLY_MS);
    },
  };
  const server = createHttpFront({
    username: options.username,
    password: options.password,
    run: refuseWritesIfMoved(
      options.dataDir,
      wakeRewrites(waker, createStatementRunner({ ...lent, ...pools, spool })),
    ),
    onError: (error) => {
      if (error instanceof Error && /shutting down due to a fatal error/u.test(error.message)) {
        onFatal();
      }
    },
  });
  const port = await listening(server, options.port);
  // A process that ended may have left rewrites.
  waker.watch(Promise.resolve());

  /** Accepts no more requests, waits up to `limits.DRAIN_MS` for running ones, and closes the engine when all have ended. */
  async function stop(): Promise<void> {
    const closed = new Promise<true>((resolve) => server.close(() => resolve(true)));
    server.closeIdleConnections();
    const drained = Promise.all(allPools.map((pool) => pool.drained())).then(() => true);
    const tooLong = new Promise<boolean>((resolve) => setTimeout(resolve, limits.DRAIN_MS, false));
    if (await Promise.race([drained, tooLong])) {
      await finishReplies(server, closed);
      await waker.stop();
      allPools.forEach((pool) => pool.close());
      control.close();
    }
    await Promise.all([spool.close(), replies.close()]);
    server.closeAllConnections();
  }

  return { port, stop };
}

/**
 * Command-line arguments of the engine: every limit that otherwise depends on the size of the machine (the defaults take 90
 * % of the memory, gigabytes of caches and dozens of background threads).
 */
function engineArguments(memoryLimitBytes: number, configFile: string): string[] {
  const settings: Record<string, number> = {
    max_server_memory_usage: memoryLimitBytes,
    // One query must leave memory for inserts and merges.
    max_memory_usage: Math.floor(memoryLimitBytes * 0.6),
    mark_cache_size: 64 * MIB,
    index_mark_cache_size: 16 * MIB,
    primary_index_cache_size: 64 * MIB,
    query_condition_cache_size: 16 * MIB,
    uncompressed_cache_size: 0,
    compiled_expression_cache_size: 32 * MIB,
    background_pool_size: 2,
    background_merges_mutations_concurrency_ratio: 2,
    background_schedule_pool_size: 4,
    background_common_pool_size: 2,
    background_fetches_pool_size: 1,
    background_move_pool_size: 1,
    max_temporary_data_on_disk_size: 10_240 * MIB,
    // Inserts are refused (and retried by their senders) before the disk is completely full.
    min_free_disk_bytes_to_perform_insert: 256 * MIB,
    // A server does not read `1 + 1` as a query.
    implicit_select: 0,
  };
  return [
    `--config-file=${configFile}`,
    ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
  ];
}

function escaped(text: string): string {
  return text.replace(/[&<>]/gu, (character) => `&#${character.charCodeAt(0)};`);
}

/**
 * First sleep of a table's background task that found nothing to do, seconds. The engine's own is 0.1 for each of the tables and twice:
 * of 150 idle tables that is 30 ms of processor a second, here 7. An insert or a mutation wakes the task at once.
 */
const TASK_SLEEP_S = {
  background_processing_pool_thread_sleep_seconds_if_nothing_to_do: 3,
  // No table streams.
  background_streaming_processing_pool_thread_sleep_seconds_if_nothing_to_do: 600,
} as const;

/** Writes the engine's configuration file into the data directory; returns its path. */
export async function writeEngineConfig(dataDir: string): Promise<string> {
  const path = join(dataDir, 'engine-config.xml');
  const backups = `<backups><allowed_path>${escaped(join(dataDir, 'backups'))}</allowed_path></backups>`;
  const sleeps = Object.entries(TASK_SLEEP_S).map(([name, seconds]) => `<${name}>${seconds}</${name}>`);
  await writeFile(path, `<clickhouse>\n${[backups, ...sleeps].join('\n')}\n</clickhouse>\n`, { mode: 0o600 });
  return path;
}
