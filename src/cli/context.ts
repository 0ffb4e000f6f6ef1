import type { TraceReading } from '../domain/agent-run.ts';
import type { TraceData } from '../domain/span.ts';
import type { Config, KnownScorer } from '../config/index.ts';
import type { Store } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import { connectStore, openConnectedStore } from './connect-store.ts';

/** What commands work on. */
export interface App {
  readonly config: Config;
  readonly store: Store;
  readTrace(data: TraceData): TraceReading;
  close(): Promise<void>;
}

/** The scorers that exist, for checking the names in rules. */
export async function scorersKnown(): Promise<KnownScorer[]> {
  const judged = ['hallucination', 'faithfulness'];
  return ['keyword-coverage', 'content-similarity', ...judged].map((name) => ({
    name,
    needsJudge: judged.includes(name),
  }));
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
