import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedEngine } from '../../../src/store/embedded/engine.ts';

/** ClickHouse for one test file. Each test file uses a database with a random name. */
export interface TestEngine {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  stop(): Promise<void>;
}

/**
 * Returns the server in CLICKHOUSE_URL (with CLICKHOUSE_USER and CLICKHOUSE_PASSWORD), else starts an embedded engine in a
 * new directory.
 */
export async function testEngine(): Promise<TestEngine> {
  const { CLICKHOUSE_URL: url, CLICKHOUSE_USER: user, CLICKHOUSE_PASSWORD: password } = process.env;
  if (url !== undefined && url !== '') {
    return { url, username: user ?? 'default', password: password ?? '', stop: () => Promise.resolve() };
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'spanscore-test-'));
  const engine = await startEmbeddedEngine({ dataDir });
  return {
    url: engine.url,
    username: engine.username,
    password: engine.password,
    stop: async () => {
      await engine.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
