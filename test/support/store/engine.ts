import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedEngine } from '../../../src/store/embedded/engine.ts';

/** ClickHouse for one test file. Each test file uses a database with a random name. */
export interface TestEngine {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** Ends the engine, unless other files use it, too. */
  stop(): Promise<void>;
}

let ofWorker: Promise<TestEngine> | undefined;

/**
 * Returns the server in CLICKHOUSE_URL (with CLICKHOUSE_USER and CLICKHOUSE_PASSWORD), else an embedded engine. All files of one
 * worker share it: an engine ends with the process that started it, and `engine-folders.ts` removes its files.
 */
export async function testEngine(): Promise<TestEngine> {
  const { CLICKHOUSE_URL: url, CLICKHOUSE_USER: user, CLICKHOUSE_PASSWORD: password } = process.env;
  if (url !== undefined && url !== '') {
    return { url, username: user ?? 'default', password: password ?? '', stop: () => Promise.resolve() };
  }
  const folder = process.env['TEST_ENGINES'];
  if (folder === undefined) {
    return startTestEngine(tmpdir());
  }
  ofWorker ??= startTestEngine(folder);
  return { ...(await ofWorker), stop: () => Promise.resolve() };
}

async function startTestEngine(folder: string): Promise<TestEngine> {
  const dataDir = await mkdtemp(join(folder, 'spanscore-test-'));
  const engine = await startEmbeddedEngine({ dataDir });
  const { url, username, password } = engine;
  const stop = async () => {
    await engine.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { url, username, password, stop };
}
