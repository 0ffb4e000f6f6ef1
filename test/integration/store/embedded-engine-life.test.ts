import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ClickHouseLogLevel, createClient, type ClickHouseClient } from '@clickhouse/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startEmbeddedEngine, type EmbeddedEngine } from '../../../src/store/embedded/engine.ts';
import { freePorts } from '../../support/free-ports.ts';
import { until } from '../../support/until.ts';

interface Address {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  readonly pid: number;
  readonly owned: boolean;
}

let dataDir: string;
let cleanups: (() => Promise<unknown>)[];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'spanscore-life-'));
  cleanups = [
    // A process that was killed may write for a last moment.
    () => rm(dataDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }),
    // A killed engine's spool is removed by the next start on its directory, and here there is none.
    async () => {
      await Promise.all((await spools()).map((path) => rm(path, { recursive: true })));
    },
  ];
});

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) {
    await cleanup();
  }
});

/** Where insert data of the test's own engine goes; other engines may run beside it. */
async function spools(): Promise<string[]> {
  const id = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  const places = [
    ['/dev/shm', `spanscore-${id}-`],
    [dataDir, 'spool-'],
  ] as const;
  const found = places.map(async ([folder, prefix]) => {
    const names = await readdir(folder).catch(() => []);
    return names.filter((name) => name.startsWith(prefix)).map((name) => join(folder, name));
  });
  return (await Promise.all(found)).flat();
}

async function start(
  options: Partial<Parameters<typeof startEmbeddedEngine>[0]> = {},
): Promise<EmbeddedEngine> {
  const engine = await startEmbeddedEngine({ dataDir, lockTimeoutMs: 60_000, ...options });
  cleanups.push(() => engine.stop());
  return engine;
}

function connect(
  { url, username, password }: Address | EmbeddedEngine,
  database = 'default',
): ClickHouseClient {
  const client = createClient({ url, username, password, database, log: { level: ClickHouseLogLevel.OFF } });
  cleanups.push(() => client.close());
  return client;
}

/** A process group of its own that owns (or attaches to) the directory's engine. */
async function ownerProcess(): Promise<{ owner: ChildProcess; address: Address }> {
  const owner = spawn(process.execPath, ['test/support/engine-owner.ts', dataDir], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(owner, 'exit');
  cleanups.push(() => {
    killGroup(owner);
    return ended;
  });
  const lines = createInterface({ input: owner.stdout });
  const [line] = (await Promise.race([once(lines, 'line'), ended])) as [unknown];
  if (typeof line !== 'string') {
    throw new Error(`the owner of an engine ended with ${String(line)} and told no address`);
  }
  return { owner, address: JSON.parse(line) as Address };
}

function killGroup(owner: ChildProcess): void {
  try {
    process.kill(-(owner.pid ?? 0), 'SIGKILL');
  } catch {
    // The group has ended already.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function answers(client: ClickHouseClient): Promise<boolean> {
  return (await client.ping({ select: true })).success;
}

async function numbersIn(client: ClickHouseClient): Promise<number[]> {
  const result = await client.query({ query: 'SELECT n FROM d.t ORDER BY n', format: 'JSONEachRow' });
  return (await result.json<{ n: number }>()).map((row) => row.n);
}

async function createTable(client: ClickHouseClient): Promise<void> {
  await client.command({ query: 'CREATE DATABASE IF NOT EXISTS d ENGINE = Atomic' });
  await client.command({
    query: 'CREATE TABLE IF NOT EXISTS d.t (n UInt32, s String) ENGINE = MergeTree ORDER BY n',
  });
}

async function insert(client: ClickHouseClient, n: number): Promise<void> {
  await client.insert({ table: 'd.t', values: [{ n, s: 'x'.repeat(2_000) }], format: 'JSONEachRow' });
}

describe('an engine that is started', () => {
  it('keeps its rows from one start to the next', async () => {
    const first = await start();
    const client = connect(first);
    await createTable(client);
    await insert(client, 1);
    await first.stop();

    const second = await start();

    expect(second.owned).toBe(true);
    expect(await numbersIn(connect(second))).toEqual([1]);
  });

  it('publishes its address for its user only and takes it back at the end', async () => {
    const engine = await start();
    const file = join(dataDir, 'engine.json');

    const published = JSON.parse(await readFile(file, 'utf8')) as Address;

    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(published).toMatchObject({ url: engine.url, password: engine.password, pid: engine.pid });
    await engine.stop();
    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(isAlive(published.pid)).toBe(false);
  });

  it('listens where it is told, for who knows what it is told', async () => {
    const [port = 0] = await freePorts(1);

    const engine = await start({ port, username: 'collector', password: 'known to it' });

    expect(engine.url).toBe(`http://127.0.0.1:${port}`);
    const told = { url: engine.url, username: 'collector', password: 'known to it' };
    const result = await connect({ ...engine, ...told }).query({
      query: 'SELECT 1 AS n',
      format: 'JSONEachRow',
    });
    expect(await result.json()).toEqual([{ n: 1 }]);
    const guessed = connect({ ...engine, ...told, password: '' }).query({ query: 'SELECT 1' });
    await expect(guessed).rejects.toMatchObject({ code: '516' });
  });

  it('says which key to set when its port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    cleanups.push(() => once(taken.close(), 'close'));

    const starting = start({ port: (taken.address() as AddressInfo).port });

    await expect(starting).rejects.toMatchObject({ code: 'store_unavailable' });
    await expect(starting).rejects.toThrow('Set `store.port` to a free port');
  });

  it('leaves no insert data behind', async () => {
    const engine = await start();
    const client = connect(engine);
    await createTable(client);
    await insert(client, 1);
    await expect(
      client.insert({ table: 'd.t', values: [{ n: 'bad' }], format: 'JSONEachRow' }),
    ).rejects.toThrow('Cannot parse');

    const folders = await spools();
    const files = await Promise.all(folders.map((folder) => readdir(folder)));

    expect(folders).toHaveLength(1);
    expect(files.flat()).toEqual([]);
  });

  it('says what to do when chdb is not installed', async () => {
    const starting = startEmbeddedEngine({ dataDir, chdbModule: 'chdb-that-is-not-installed' });

    await expect(starting).rejects.toMatchObject({ code: 'store_missing', retryable: false });
    await expect(starting).rejects.toThrow('store.url');
  });

  it('says what is wrong when the data directory is no directory', async () => {
    const file = join(dataDir, 'file');
    await writeFile(file, '');

    await expect(startEmbeddedEngine({ dataDir: file })).rejects.toMatchObject({ code: 'config_invalid' });
  });
});

describe('an engine that dies', () => {
  it('comes back on the same port with the same password and its rows', async () => {
    const exits: number[] = [];
    const engine = await start({ onExit: (exit) => exits.push(exit.pid) });
    const client = connect(engine);
    await createTable(client);
    await insert(client, 1);
    const { url, pid } = engine;

    process.kill(pid, 'SIGKILL');
    await until(async () => engine.pid !== pid && (await answers(client)));

    expect(engine.url).toBe(url);
    expect(exits).toEqual([pid]);
    expect(await numbersIn(client)).toEqual([1]);
    // Clients may get through to the new child a moment before its pid is published.
    const published = async () =>
      (JSON.parse(await readFile(join(dataDir, 'engine.json'), 'utf8')) as { pid: number }).pid;
    await expect.poll(published, { timeout: 30_000 }).toBe(engine.pid);
  });

  it('fails the requests that it was serving', async () => {
    const engine = await start();
    const client = connect(engine);
    const running = client.query({
      query: 'SELECT sleepEachRow(1) FROM numbers(60) SETTINGS max_block_size = 1',
    });
    const failed = running
      .then((result) => result.text())
      .then(
        () => 'answered',
        () => 'failed',
      );
    const other = connect(engine);
    await until(async () => {
      const found = await other.query({
        query: 'SELECT count() > 1 AS n FROM system.processes',
        format: 'JSONEachRow',
      });
      return Boolean((await found.json<{ n: number }>())[0]?.n);
    });

    process.kill(engine.pid, 'SIGKILL');

    expect(await failed).toBe('failed');
  });

  it('is not started again when it was stopped meanwhile', async () => {
    const engine = await start();
    const { pid } = engine;

    process.kill(pid, 'SIGKILL');
    await engine.stop();

    expect(isAlive(engine.pid)).toBe(false);
    expect((await start()).owned).toBe(true);
  });

  it('does not die of the signals that a terminal or a supervisor sends to the group', async () => {
    const engine = await start();
    const client = connect(engine);

    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.kill(engine.pid, signal);
    }
    const { pid } = engine;

    await createTable(client);
    expect(engine.pid).toBe(pid);
    expect(isAlive(pid)).toBe(true);
  });
});

describe('several processes on one directory', () => {
  it('share the engine of the first', async () => {
    const { owner, address } = await ownerProcess();

    const second = await start();

    expect(address.owned).toBe(true);
    expect(second).toMatchObject({ url: address.url, password: address.password, owned: false });
    await second.stop();
    expect(await answers(connect(address))).toBe(true);
    owner.kill('SIGTERM');
    await until(() => !isAlive(address.pid));
  });

  it('that start at the same instant agree on one owner', async () => {
    const started = await Promise.all([ownerProcess(), ownerProcess(), ownerProcess()]);

    const addresses = started.map(({ address }) => address);

    expect(addresses.filter(({ owned }) => owned)).toHaveLength(1);
    expect(new Set(addresses.map(({ url, pid }) => `${url} ${pid}`)).size).toBe(1);
  });

  it('within one process share the engine too', async () => {
    const [first, second] = await Promise.all([start(), start()]);

    expect([first, second].filter(({ owned }) => owned)).toHaveLength(1);
    expect(first.url).toBe(second.url);
  });

  it('take over when the first is killed, whose engine ends with it', async () => {
    const { owner, address } = await ownerProcess();
    const before = connect(address);
    await createTable(before);
    await insert(before, 1);

    owner.kill('SIGKILL');
    await once(owner, 'exit');
    const successor = await start();

    expect(successor.owned).toBe(true);
    expect(await numbersIn(connect(successor))).toEqual([1]);
    await until(() => !isAlive(address.pid));
  });

  it('ignore an address that nobody answers at', async () => {
    const stale = {
      pid: 1,
      ownerPid: 2 ** 22 + 1,
      url: 'http://127.0.0.1:9',
      username: 'default',
      password: 'x',
    };
    await writeFile(join(dataDir, 'engine.json'), JSON.stringify(stale));

    expect((await start()).owned).toBe(true);
  });

  it('ignore a file that is no address', async () => {
    await writeFile(join(dataDir, 'engine.json'), '{"pid":');

    expect((await start()).owned).toBe(true);
  });

  it('are told who holds the directory when the holder does not answer', async () => {
    const { address } = await ownerProcess();
    process.kill(address.pid, 'SIGSTOP');

    const refused = startEmbeddedEngine({ dataDir, lockTimeoutMs: 100 });

    await expect(refused).rejects.toMatchObject({ code: 'store_unavailable' });
    await expect(refused).rejects.toThrow(`held by process ${address.pid}`);
    process.kill(address.pid, 'SIGCONT');
  });
});

describe('kill -9 of the whole group while inserts come in', () => {
  it('loses no acknowledged insert in ten rounds', { timeout: 600_000 }, async () => {
    const acknowledged: number[] = [];
    let next = 0;
    for (let round = 0; round < 10; round++) {
      const { owner, address } = await ownerProcess();
      const client = connect(address);
      await createTable(client);
      const goal = acknowledged.length + 10 + round * 3;
      const writers = Array.from({ length: 3 }, async () => {
        while (owner.signalCode === null && !owner.killed) {
          const n = next++;
          await insert(client, n);
          acknowledged.push(n);
        }
      });
      const ended = Promise.allSettled(writers);
      await until(() => acknowledged.length >= goal);
      killGroup(owner);
      await ended;
    }

    const survivor = await start();

    const stored = await numbersIn(connect(survivor));
    expect(stored).toEqual([...new Set(stored)]);
    expect(acknowledged.filter((n) => !stored.includes(n))).toEqual([]);
    expect(acknowledged.length).toBeGreaterThanOrEqual(100);
  });
});
