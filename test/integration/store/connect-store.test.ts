import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, connect as connectSocket, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  connectStore,
  type StoreConnection,
  openConnectedStore,
} from '../../../src/store/connection/connect-store.ts';
import { parseConfig } from '../../../src/configuration.ts';
import { writeServeFile } from '../../../src/config/serve-file.ts';
import { silentLog, type Log } from '../../../src/telemetry/log.ts';
import { folderWith } from '../../support/builders/config-files.ts';
import { freePorts } from '../../support/processes/free-ports.ts';

const opened: StoreConnection[] = [];

afterEach(async () => {
  for (const connection of opened.splice(0).reverse()) {
    await connection.release();
  }
});

async function connect(dataDir: string, log: Log = silentLog, port?: number) {
  const store = { dataDir, ...(port === undefined ? {} : { port }) };
  const connection = await connectStore(parseConfig({ store }), log);
  opened.push(connection);
  return connection;
}

async function forwardTo(port: number, target: number): Promise<Server> {
  const relay = createServer((socket) => {
    const onward = connectSocket(target, '127.0.0.1');
    socket.pipe(onward).pipe(socket);
    socket.on('error', () => onward.destroy());
    onward.on('error', () => socket.destroy());
  });
  relay.listen(port, '127.0.0.1');
  await once(relay, 'listening');
  return relay;
}

describe('connectStore', () => {
  it('starts an engine of its own at any free port, and uses the store of a running serve', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const own = await connect(folderWith({}), silentLog, port);
    taken.close();
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

  it('waits for a serve whose engine is being started again, and leaves its address file alone', async () => {
    const own = await connect(folderWith({}));
    const { url, username, password } = own.options;
    const [port = 0] = await freePorts(1);
    const folder = folderWith({});
    writeServeFile(folder, {
      pid: process.ppid,
      otlpHttp: null,
      otlpGrpc: null,
      api: null,
      clickhouse: {
        url: `http://127.0.0.1:${port}`,
        username,
        password,
        database: 'spanscore',
      },
    });

    const said: string[] = [];
    const connecting = connect(folder, { ...silentLog, info: (message: string) => said.push(message) });
    await expect.poll(() => said).toContainEqual(expect.stringContaining('starting again'));
    const relay = await forwardTo(port, Number(new URL(url).port));
    const found = await connecting;
    relay.close();

    expect(found.kind).toBe(`running serve (pid ${process.ppid})`);
    expect(existsSync(join(folder, 'serve.json'))).toBe(true);
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
