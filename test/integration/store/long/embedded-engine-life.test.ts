import { once } from 'node:events';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ClickHouseClient } from '@clickhouse/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startEmbeddedEngine } from '../../../../src/store/embedded/engine.ts';
import {
  useEngineDirectory,
  isProcessAlive,
  killGroup,
  type EngineAddress,
} from '../../../support/processes/engine-directory.ts';
import { freePorts } from '../../../support/processes/free-ports.ts';
import { until } from '../../../support/until.ts';

const directory = useEngineDirectory();

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
    const first = await directory.start();
    const client = directory.connect(first);
    await createTable(client);
    await insert(client, 1);
    await first.stop();

    const second = await directory.start();

    expect(await numbersIn(directory.connect(second))).toEqual([1]);
  });

  it('publishes its address for its user only and takes it back at the end', async () => {
    const engine = await directory.start();
    const file = join(directory.dataDir, 'engine.json');

    const published = JSON.parse(await readFile(file, 'utf8')) as EngineAddress & { pid: number };

    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(published).toMatchObject({ url: engine.url, password: engine.password, pid: engine.pid });
    await engine.stop();
    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(isProcessAlive(published.pid)).toBe(false);
  });

  it('listens on the given port, for clients with the given password', async () => {
    const [port = 0] = await freePorts(1);

    const engine = await directory.start({ port, username: 'collector', password: 'known to it' });

    expect(engine.url).toBe(`http://127.0.0.1:${port}`);
    const told = { url: engine.url, username: 'collector', password: 'known to it' };
    const result = await directory.connect({ ...engine, ...told }).query({
      query: 'SELECT 1 AS n',
      format: 'JSONEachRow',
    });
    expect(await result.json()).toEqual([{ n: 1 }]);
    const guessed = directory.connect({ ...engine, ...told, password: '' }).query({ query: 'SELECT 1' });
    await expect(guessed).rejects.toMatchObject({ code: '516' });
  });

  it('says which key to set when its port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    directory.atEnd(() => once(taken.close(), 'close'));

    const starting = directory.start({ port: (taken.address() as AddressInfo).port });

    await expect(starting).rejects.toMatchObject({ code: 'store_unavailable' });
    await expect(starting).rejects.toThrow('Set `store.port` to a free port');
  });

  it('leaves no insert data behind', async () => {
    const engine = await directory.start();
    const client = directory.connect(engine);
    await createTable(client);
    await insert(client, 1);
    await expect(
      client.insert({ table: 'd.t', values: [{ n: 'bad' }], format: 'JSONEachRow' }),
    ).rejects.toThrow('Cannot parse');

    const folders = await directory.spools();
    const files = await Promise.all(folders.map((folder) => readdir(folder)));

    expect(folders).toHaveLength(1);
    expect(files.flat()).toEqual([]);
  });

  it('says what to do when chdb is not installed', async () => {
    const starting = startEmbeddedEngine({
      dataDir: directory.dataDir,
      chdbModule: 'chdb-that-is-not-installed',
    });

    await expect(starting).rejects.toMatchObject({ code: 'store_missing', retryable: false });
    await expect(starting).rejects.toThrow('store.url');
  });

  it('names the fault when the data directory is not a directory', async () => {
    const file = join(directory.dataDir, 'file');
    await writeFile(file, '');

    await expect(startEmbeddedEngine({ dataDir: file })).rejects.toMatchObject({ code: 'config_invalid' });
  });
});

describe('an engine that dies', () => {
  it('comes back on the same port with the same password and its rows', async () => {
    const exits: number[] = [];
    const engine = await directory.start({ onExit: (exit) => exits.push(exit.pid) });
    const client = directory.connect(engine);
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
      (JSON.parse(await readFile(join(directory.dataDir, 'engine.json'), 'utf8')) as { pid: number }).pid;
    await expect.poll(published, { timeout: 30_000 }).toBe(engine.pid);
  });

  it(
    'is replaced when a statement cannot be cancelled, and keeps its rows',
    { timeout: 90_000 },
    async () => {
      process.env['SPANSCORE_TEST_KEY'] = 'key-of-a-judge';
      // Files of a worker share its environment.
      onTestFinished(() => void delete process.env['SPANSCORE_TEST_KEY']);
      const engine = await directory.start();
      const client = directory.connect(engine);
      await createTable(client);
      await insert(client, 1);
      const { pid } = engine;
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
      const slow = "editDistance(repeat('ab', 8000), concat(repeat('ba', 8000), toString(number)))";

      const stuck = client.query({
        query: `SELECT sum(${slow}) FROM numbers(600)`,
        clickhouse_settings: { max_execution_time: 1 },
      });

      await expect(stuck).rejects.toThrow('could not be cancelled, so the engine starts again');
      await until(async () => engine.pid !== pid && (await answers(client)));
      expect(await numbersIn(client)).toEqual([1]);
      expect(environment).not.toContain('key-of-a-judge');
    },
  );

  it('fails the requests that it was serving', async () => {
    const engine = await directory.start();
    const client = directory.connect(engine);
    const running = client.query({
      query: 'SELECT sleepEachRow(1) FROM numbers(60) SETTINGS max_block_size = 1',
    });
    const failed = running
      .then((result) => result.text())
      .then(
        () => 'answered',
        () => 'failed',
      );
    const other = directory.connect(engine);
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
    const engine = await directory.start();
    const { pid } = engine;

    process.kill(pid, 'SIGKILL');
    await engine.stop();

    expect(isProcessAlive(engine.pid)).toBe(false);
    expect(isProcessAlive((await directory.start()).pid)).toBe(true);
  });

  it('does not die of the signals that a terminal or a supervisor sends to the group', async () => {
    const engine = await directory.start();
    const client = directory.connect(engine);

    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.kill(engine.pid, signal);
    }
    const { pid } = engine;

    await createTable(client);
    expect(engine.pid).toBe(pid);
    expect(isProcessAlive(pid)).toBe(true);
  });
});

describe('kill -9 of the whole group while inserts come in', () => {
  it('loses no acknowledged insert in ten rounds', { timeout: 600_000 }, async () => {
    const acknowledged: number[] = [];
    let next = 0;
    for (let round = 0; round < 10; round++) {
      const { owner, address } = await directory.ownerProcess();
      const client = directory.connect(address);
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

    const survivor = await directory.start();

    const stored = await numbersIn(directory.connect(survivor));
    expect(stored).toEqual([...new Set(stored)]);
    expect(acknowledged.filter((n) => !stored.includes(n))).toEqual([]);
    expect(acknowledged.length).toBeGreaterThanOrEqual(100);
  });
});
