import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
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
  return isClusterRun() ? startTwoShards() : startEngine({});
}

/** Returns true when the tests of this run use an engine with two shards: SPANSCORE_TEST_CLUSTER is set. */
export function isClusterRun(): boolean {
  return (process.env['SPANSCORE_TEST_CLUSTER'] ?? '') !== '';
}

/** Starts an embedded engine that is a cluster of two shards (`cluster/two-shards.ts`). */
export async function startTwoShards(): Promise<TestEngine> {
  return startEngine({ chdbModule: fileURLToPath(new URL('cluster/two-shards.ts', import.meta.url)) });
}

async function startEngine(options: { readonly chdbModule?: string }): Promise<TestEngine> {
  const dataDir = await mkdtemp(join(tmpdir(), 'spanscore-test-'));
  const engine = await startEmbeddedEngine({ dataDir, ...options });
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
