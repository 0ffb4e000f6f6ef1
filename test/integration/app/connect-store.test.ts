import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { connectStore, openConnectedStore, type StoreConnection } from '../../../src/app/connect-store.ts';
import { parseConfig } from '../../../src/config/index.ts';
import { writeServeFile } from '../../../src/config/serve-file.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { folderWith } from '../../support/config-files.ts';

const opened: StoreConnection[] = [];

afterEach(async () => {
  for (const connection of opened.splice(0).reverse()) {
    await connection.release();
  }
});

async function connect(dataDir: string) {
  const connection = await connectStore(parseConfig({ store: { dataDir } }), silentLog);
  opened.push(connection);
  return connection;
}

describe('connectStore', () => {
  it('uses the store of a running serve, its database included', async () => {
    const own = await connect(folderWith({}));
    const folder = folderWith({});
    const { url, username, password } = own.options;
    writeServeFile(folder, {
      pid: process.pid,
      otlpHttp: null,
      otlpGrpc: null,
      api: null,
      clickhouse: { url, username, password, database: 'of_the_serve' },
    });

    const found = await connect(folder);

    expect(found.kind).toBe(`running serve (pid ${process.pid})`);
    expect(found.options).toMatchObject({ url, database: 'of_the_serve' });
  });

  it('is not held up by the file of a serve that was killed and whose number another process has', async () => {
    const folder = folderWith({});
    writeServeFile(folder, {
      pid: process.pid,
      otlpHttp: null,
      otlpGrpc: null,
      api: null,
      clickhouse: { url: 'http://127.0.0.1:9', username: 'u', password: 'p', database: 'spanscore' },
    });

    const connection = await connect(folder);
    const store = await openConnectedStore(connection, silentLog);
    await store.ping();
    await store.close();

    expect(connection.kind).toBe('embedded engine');
    expect(existsSync(join(folder, 'serve.json'))).toBe(false);
  });
});
