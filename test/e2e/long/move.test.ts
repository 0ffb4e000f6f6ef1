import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPurgeSecret } from '../../../src/config/data-folder.ts';
import { createPurgeKey } from '../../../src/purge/purge-key.ts';
import { moveTables } from '../../../src/store/copies/move-store.ts';
import { startRequestGate, type RequestGate } from '../../support/fakes/request-gate.ts';
import { emptyFolder, requireDone, startCli, type CliResult } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { runCommand as runSql, type ClickHouseAddress } from '../../support/store/clickhouse-query.ts';
import { testEngine, type TestEngine } from '../../support/store/engine.ts';
import { fillTable, listTables } from '../../support/store/filled-tables.ts';
import { digestTables, NOT_COPIED, withStore } from '../../support/store/kept-folder.ts';

/** Rows of each table. Dates go back one day a row, and must not expire meanwhile. */
const ROWS = 8;
const RETENTION = { spansDays: 30, scoresDays: 400, catchUpDays: 3 };
const NOTHING = { sourceId: '', hasEnded: false, onProgress: () => undefined, endSource: () => undefined };
const DATABASE = `moved_${process.pid}`;

describe('a move to another store, killed twice', () => {
  const cwd = emptyFolder();
  const dataDir = join(cwd, 'data');
  let engine: TestEngine;
  let target: ClickHouseAddress;
  let gate: RequestGate;
  let before: Awaited<ReturnType<typeof digestTables>>;
  /** Beginning of the statement at which the target no longer answers. */
  let lastStatement = 'nothing';
  let reached: () => void = () => undefined;
  let beside: CliResult;
  let inUse: unknown;
  let early: CliResult;
  let done: CliResult;

  const listMoved = (digests: typeof before) =>
    Object.fromEntries(Object.entries(digests).filter(([table]) => !NOT_COPIED.includes(table)));
  const run = (...args: string[]) => runCommand([...args, '--data-dir', dataDir], { cwd });
  const moveLine = (database = DATABASE) => {
    const url = new URL(gate.url);
    url.username = engine.username;
    url.password = engine.password;
    return ['move', '--to', url.href, '--database', database];
  };
  const move = (database?: string) => run(...moveLine(database));

  async function killAt(statement: string): Promise<void> {
    lastStatement = statement;
    const isReached = new Promise<void>((resolve) => (reached = resolve));
    const killed = startCli([...moveLine(), '--data-dir', dataDir], { cwd, stdin: '' });
    const ended = killed.ended.then(({ stderr }) => {
      throw new Error(`the move ended before its kill: ${stderr}`);
    });
    await Promise.race([isReached, ended]);
    killed.child.kill('SIGKILL');
    await ended.catch(() => undefined);
    lastStatement = 'nothing';
  }

  beforeAll(async () => {
    engine = await testEngine();
    target = { ...engine, database: DATABASE };
    gate = await startRequestGate(engine.url, async ({ path, body }, forward) => {
      const statement = `${new URL(path, engine.url).searchParams.get('query') ?? ''}${body}`;
      if (statement.startsWith(lastStatement)) {
        reached();
        return false;
      }
      await forward();
      return true;
    });
    await withStore(dataDir, async (_, address) => {
      const { keyId } = createPurgeKey(readPurgeSecret(dataDir));
      for (const columns of await listTables(address)) {
        const isHashed = columns.table === 'tombstones';
        await fillTable(address, columns, ROWS, isHashed ? { KeyId: `'${keyId}'` } : {});
      }
      before = await digestTables(address);
      beside = await move();
      const used = { ...engine, database: 'system' };
      inUse = await moveTables(address, { ...used, retention: RETENTION }, NOTHING).catch(
        (error: unknown) => error,
      );
    });
    await killAt('INSERT INTO scores');
    const { url, username, password } = engine;
    const settings = [`username=${username}`, `password=${password}`, `database=${DATABASE}`];
    const flags = settings.flatMap((setting) => ['--set', `store.${setting}`]);
    early = await runCommand(['scores', '--store-url', url, ...flags], { cwd });
    // A kill in the middle of an insert leaves rows that are missing, and rows that are there twice.
    await runSql(target, "ALTER TABLE decisions DELETE WHERE Rule LIKE '%1%' SETTINGS mutations_sync = 1");
    await runSql(target, 'INSERT INTO judge_calls SELECT * FROM judge_calls LIMIT 3');
    // Other versions of as many rows: as when the former store was used again after the kill.
    await runSql(target, 'INSERT INTO jobs SELECT * REPLACE (Version + 1 AS Version) FROM jobs FINAL');
    await killAt('ATTACH TABLE');
    done = await move();
  });
  afterAll(async () => {
    await runSql({ ...engine, database: 'default' }, `DROP DATABASE IF EXISTS ${DATABASE} SYNC`);
    await gate.close();
    await engine.stop();
    rmSync(cwd, { recursive: true, force: true });
  });

  it('makes all tables equal, and names the key of purges', async () => {
    requireDone(done);
    const after = await digestTables(target);
    expect(listMoved(after)).toEqual(listMoved(before));
    expect(Object.keys(before).length).toBeGreaterThan(30);
    expect(done.stdout).toContain(`store.purgeKey: the text of ${dataDir}/purge.key`);
  });

  it('lets nobody use the target before its end', () => {
    expect(early.stderr).toContain('spanscore move has not finished with it');
  });

  it('is refused while another process uses the store', () => {
    expect(beside).toMatchObject({ code: 1 });
    expect(beside.stderr).toContain(`uses the store in ${dataDir}: stop it, and run spanscore move again`);
  });

  it('turns the views of the target on', async () => {
    await runSql(
      target,
      "INSERT INTO otel_traces (TraceId, SpanId, Timestamp) VALUES ('new-trace', 'new-span', now64(9))",
    );
    const after = await digestTables(target);
    expect(Number(after['trace_arrivals']?.[0])).toBe(Number(before['trace_arrivals']?.[0]) + 1);
  });

  it('leaves a store that serve refuses, and says at a repeat that it has ended', async () => {
    const serve = await run('serve');
    const again = await move();

    expect(serve).toMatchObject({ code: 78 });
    expect(serve.stderr).toContain(`database ${DATABASE}: set store.url and store.database`);
    requireDone(again);
    expect(again.stdout).toContain('an earlier move has ended there, and nothing was copied');
  });

  it('is refused for a database in use, for another target after its end, and for a server', async () => {
    const wrong = await run('move', '--to', 'clickhouse:8123');
    const other = await move('other');
    const server = await run('move', '--to', engine.url, '--store-url', engine.url);

    expect(String(inUse)).toContain('has tables already: a move needs a new database');
    expect(wrong).toMatchObject({ code: 2 });
    expect(other.stderr).toContain('name that target');
    expect(server).toMatchObject({ code: 78 });
    expect(server.stderr).toContain('run it with the configuration of the embedded engine');
  });
});
