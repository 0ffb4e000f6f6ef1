import type { Config } from '../config/index.ts';
import type { TraceReading } from '../domain/agent-run.ts';
import type { TraceData } from '../domain/span.ts';
import type { Store } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import { connectStore, openConnectedStore } from '../app/connect-store.ts';

/** The store that a command works on. */
export interface App {
  readonly config: Config;
  readonly store: Store;
  readonly readTrace: (data: TraceData) => TraceReading;
  close(): Promise<void>;
}

/** Opens the store that a configuration means. */
export async function openApp(config: Config, log: Log): Promise<App> {
  const connection = await connectStore(config, log);
  try {
    const { readTrace } = await import('../conventions/index.ts');
    const store = await openConnectedStore(connection, log);
    const close = async () => {
      await store.close();
      await connection.release();
    };
    return { config, store, readTrace, close };
  } catch (error) {
    await connection.release();
    throw error;
  }
}
