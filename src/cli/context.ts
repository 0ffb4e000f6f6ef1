import type { Config } from '../configuration.ts';
import type { ReadingOptions, TraceReading } from '../domain/trace/agent-run.ts';
import type { TraceData } from '../domain/trace/span.ts';
import type { Log } from '../telemetry/log.ts';
import type { Output } from './show/output.ts';
import {
  connectStore,
  type StoreConnection,
  type StoreUser,
  openConnectedStore,
} from '../store/connection/connect-store.ts';
import type { Store } from '../store/store.ts';
import { leaveOutPurged } from '../purge/configured-purge.ts';
import type { WatchedTraces } from '../purge/purged-traces.ts';

export interface App {
  readonly config: Config;
  /** Store without purged traces. */
  readonly store: Store;
  readonly purged: WatchedTraces;
  readonly readTrace: (data: TraceData, options?: ReadingOptions) => Promise<TraceReading>;
  close(): Promise<void>;
}

/** Opens the configured store and prints its place. Throws `NotFoundError` when there is no store: commands create none. */
export async function openApp(
  config: Config,
  { log, out, user }: { log: Log; out: Output; user: StoreUser },
): Promise<App> {
  const connection = await connectStore(config, log, { ...user, existing: true });
  out.talk(`store: ${formatPlace(config, connection)}`);
  try {
    const opened = await openConnectedStore(connection, log, { existing: true });
    const { store, purged } = await leaveOutPurged(config, opened, log);
    const close = async () => {
      purged.stop();
      await store.close();
      await connection.release();
    };
    return { config, store, purged, readTrace, close };
  } catch (error) {
    await connection.release();
    throw error;
  }
}

/** Reads a trace. Commands that read none do not load the conventions. */
const readTrace: App['readTrace'] = async (...args) =>
  (await import('../conventions/index.ts')).readTrace(...args);

/** Returns text like `running serve (pid 7), /data/.spanscore` or `server http://127.0.0.1:8123, database spanscore`. */
function formatPlace({ store }: Config, { kind, options }: StoreConnection): string {
  return store.url === undefined
    ? `${kind}, ${store.dataDir}`
    : `${kind} ${new URL(options.url).origin}, database ${options.database}`;
}
