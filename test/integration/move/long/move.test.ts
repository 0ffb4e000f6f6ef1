import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPurgeSecret } from '../../../../src/config/purge-key-file.ts';
import { createPurgeKey } from '../../../../src/purge/purge-key.ts';
import { tryFileLock } from '../../../../src/store/embedded/ownership/file-lock.ts';
import { emptyFolder, requireDone, type CliResult } from '../../../support/processes/cli.ts';
import { runCommand } from '../../../support/processes/run-command.ts';
import {
  queryRows,
  runCommand as runSql,
  type ClickHouseAddress,
} from '../../../support/store/clickhouse-query.ts';
import { testEngine, type TestEngine } from '../../../support/store/engine.ts';
import { fillTable, listTables } from '../../../support/store/filled-tables.ts';
import { until } from '../../../support/until.ts';
import { digestTables, NOT_COPIED, withStore } from '../../../support/store/kept-folder.ts';

/** Rows of each table. Dates go back one day a row, and must not expire meanwhile. */
const ROWS = 30;

describe('a move to another store', () => {
  const cwd = emptyFolder();
  const dataDir = join(cwd, 'data');
  const database = `moved_${process.pid}_${Date.now()}`;
  let engine: TestEngine;
  let target: ClickHouseAddress;
  let before: Awaited<ReturnType<typeof digestTables>>;
  let interrupted: CliResult;
  let opened: CliResult;
  let done: CliResult;

  const listMoved = (digests: typeof before) =>
    Object.fromEntries(Object.entries(digests).filter(([table]) => !NOT_COPIED.includes(table)));
  const run = (args: readonly string[], signal?: AbortSignal) =>
    runCommand([...args, '--data-dir', dataDir], { cwd, ...(signal === undefined ? {} : { signal }) });
  const move = (signal?: AbortSignal, name = database) => {
    const url = new URL(engine.url);
    url.username = engine.username;
    url.password = engine.password;
    return run(['move', '--to', url.href, '--database', name], signal);
  };

  async function hasCopied(table: string): Promise<boolean> {
    const sql = `SELECT 1 AS found FROM system.parts WHERE database = '${database}' AND table = '${table}' AND active LIMIT 1`;
    return (await queryRows({ ...engine, database: 'default' }, sql)).length > 0;
  }

  beforeAll(async () => {
    engine = await testEngine();
    target = { ...engine, database };
    await withStore(dataDir, async (_, address) => {
      const { keyId } = createPurgeKey(readPurgeSecret(dataDir));
      for (const columns of await listTables(address)) {
        if (columns.table !== 'schema_migrations') {
          const isHashed = columns.table === 'tombstones';
          await fillTable(address, columns, ROWS, isHashed ? { KeyId: `'${keyId}'` } : {});
        }
      }
      before = await digestTables(address);
    });
    const stopping = new AbortController();
    const moving = move(stopping.signal);
    await until(() => hasCopied('alert_acks'));
    stopping.abort('SIGINT');
    interrupted = await moving;
    opened = await runCommand(['scores', '--store-url', engine.url, ...flags()], { cwd });
    // As a kill in the middle of an insert leaves it: some rows are missing, others are there twice.
    await runSql(target, "ALTER TABLE spend DELETE WHERE Rule LIKE '%1%' SETTINGS mutations_sync = 1").catch(
      () => undefined,
    );
    await runSql(target, 'INSERT INTO otel_traces SELECT * FROM otel_traces LIMIT 7').catch(() => undefined);
    done = await move();
  });
  afterAll(async () => {
    await runSql({ ...engine, database: 'default' }, `DROP DATABASE IF EXISTS ${database} SYNC`);
    await engine.stop();
    rmSync(cwd, { recursive: true, force: true });
  });

  const flags = () =>
    [`username=${engine.username}`, `password=${engine.password}`, `database=${database}`].flatMap(
      (setting) => ['--set', `store.${setting}`],
    );

  it('that was interrupted goes on, and makes all tables equal', async () => {
    requireDone(done);
    expect(interrupted.code).toBe(130);
    expect(done.stdout).toContain('all tables equal');
    const after = await digestTables(target);
    expect(listMoved(after)).toEqual(listMoved(before));
    expect(Object.keys(before).length).toBeGreaterThan(40);
  });

  it('lets nobody use the target until it has ended', () => {
    expect(opened.stderr).toContain('spanscore move has not finished with it');
  });

  it('turns the views of the target on at its end', async () => {
    await runSql(
      target,
      "INSERT INTO otel_traces (TraceId, SpanId, Timestamp) VALUES ('new-trace', 'new-span', now64(9))",
    );
    const after = await digestTables(target);
    expect(Number(after['trace_arrivals']?.[0])).toBe(Number(before['trace_arrivals']?.[0]) + 1);
    expect(Number(after['trace_starts']?.[0])).toBe(Number(before['trace_starts']?.[0]) + 1);
  });

  it('leaves a store that only reads, and says where the data is', async () => {
    const serve = await run(['serve']);

    expect(serve).toMatchObject({ code: 78 });
    expect(serve.stderr).toContain(`database ${database}: set store.url and store.database`);
    await withStore(dataDir, async (_, address) => {
      expect(await run(['traces'])).toMatchObject({ code: 0 });
      await expect(runSql(address, 'INSERT INTO write_probe VALUES (now64(3))')).rejects.toThrow(
        'this store was moved to',
      );
    });
    expect(JSON.parse(readFileSync(join(dataDir, 'moved.json'), 'utf8'))).toMatchObject({ database });
  });

  it('says at a repeat that it has ended, and leaves what the target has got since', async () => {
    const ofTarget = await digestTables(target);
    // As a kill right after the end leaves it.
    const state = join(dataDir, 'move.json');
    writeFileSync(state, JSON.stringify({ url: new URL(engine.url).origin, database, untilMs: [1] }));
    const again = await move();

    requireDone(again);
    expect(again.stdout).toContain('an earlier move has ended there, and nothing was copied');
    expect(await digestTables(target)).toEqual(ofTarget);
    expect(existsSync(state)).toBe(false);
  });

  it('stays a store that only reads when the hold of a killed move lapses', async () => {
    const left = join(cwd, 'left');
    await withStore(left, async (_, address) => {
      const authorization = `Basic ${Buffer.from(`${address.username}:${address.password}`).toString('base64')}`;
      const held = await fetch(`${address.url}/control?writes=none&seconds=0.1`, {
        method: 'POST',
        headers: { authorization },
      });
      expect(await held.text()).toContain('all');
      writeFileSync(join(left, 'moved.json'), JSON.stringify({ url: engine.url, database }));
      await sleep(200);

      await expect(runSql(address, 'INSERT INTO write_probe VALUES (now64(3))')).rejects.toThrow(
        `this store was moved to ${engine.url}`,
      );
    });
  });

  it('is the only one of its data directory', async () => {
    const other = tryFileLock(join(dataDir, 'move.lock'));
    const second = await move();
    other?.release();

    expect(second).toMatchObject({ code: 1 });
    expect(second.stderr).toContain(`another spanscore move of ${dataDir} is at work`);
  });

  it('is refused for a database in use, for itself, and for a server', async () => {
    const used = await move(undefined, 'system');
    const wrong = await run(['move', '--to', 'clickhouse:8123']);
    const server = await run(['move', '--to', engine.url, '--store-url', engine.url]);

    expect(used.stderr).toContain('has tables already: a move needs a new database');
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.stderr).toContain('write the HTTP address of a ClickHouse server');
    expect(server).toMatchObject({ code: 78 });
    expect(server.stderr).toContain('run it with the configuration of the embedded engine');
  });
});
