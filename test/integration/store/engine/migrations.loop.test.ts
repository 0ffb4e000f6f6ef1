import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError } from '../../../../src/domain/errors.ts';
import { openDatabase } from '../../../../src/store/open-database.ts';
import { applyMergeSettings } from '../../../../src/store/schema/merge-settings.ts';
import { readDefinitions } from '../../../../src/store/schema/table-definitions.ts';
import { migrate, migrationStatus } from '../../../../src/store/schema/migrate.ts';
import { readMigrations } from '../../../../src/store/schema/migration-files.ts';
import { currentDays, listExpiries } from '../../../../src/store/schema/retention.ts';
import { openStore, readMigrationStatus, type StoreOptions } from '../../../../src/store/store.ts';
import { testEngine, type TestEngine } from '../../../support/store/engine.ts';
import { scoreRowAt } from '../../../support/monitors/monitor-world.ts';
import {
  buildScore,
  newTraceId,
  spanBlock,
  buildSpan,
  storeOptions,
} from '../../../support/store/store-rows.ts';
import { testLong } from '../../../support/loops.ts';

let engine: TestEngine;

beforeAll(async () => {
  engine = await testEngine();
});
afterAll(() => engine.stop());

async function withDatabase<T>(
  options: StoreOptions,
  use: (database: ReturnType<typeof openDatabase>) => Promise<T>,
): Promise<T> {
  const database = openDatabase(options);
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}

describe('migrations', () => {
  const known = readMigrations().at(-1)?.version;

  test('make the database, all of it, once', async () => {
    const options = storeOptions(engine);
    expect(await readMigrationStatus(options)).toMatchObject({ current: 0, known, applied: [] });
    await (await openStore(options)).close();
    const status = await readMigrationStatus(options);
    expect(status).toMatchObject({ current: known, known, pending: [] });
    expect(await withDatabase(options, (database) => migrate(database))).toEqual([]);
  });

  test('status of a database that is not there makes none', async () => {
    const options = storeOptions(engine);
    await readMigrationStatus(options);
    const databases = await withDatabase(options, (database) =>
      database.outside.rows<{ name: string }>('SELECT name FROM system.databases'),
    );
    expect(databases.map(({ name }) => name)).not.toContain(options.database);
  });

  testLong('do not clash when several programs open the store at once', async () => {
    const options = storeOptions(engine);
    const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(options)));
    await stores[0]?.sink.insert(spanBlock([buildSpan()]), 'one');
    const rows = await withDatabase(options, (database) =>
      database.rows<{ rows: string }>('SELECT count() AS rows FROM trace_arrivals'),
    );
    expect(rows).toEqual([{ rows: '1' }]);
    await Promise.all(stores.map((store) => store.close()));
  });

  testLong('continue where a crash left them', async () => {
    const options = storeOptions(engine);
    await withDatabase(options, async (database) => {
      const [first, ...rest] = readMigrations();
      const half = { ...first!, statements: first!.statements.slice(0, 1) };
      await migrate(database, [half]);
      await database.command('TRUNCATE TABLE schema_migrations');
      expect(await migrate(database)).toHaveLength(rest.length + 1);
    });
  });

  testLong('bring scores of before along, and note versions of agents from then on', async () => {
    const options = storeOptions(engine);
    await withDatabase(options, async (database) => {
      const before = readMigrations().filter(({ version }) => version <= 10);
      await migrate(database, before);
      const { AgentVersion: _, ...old } = scoreRowAt(Date.now() - 2000, { serviceVersion: 'v1' });
      await database.insertRows('scores', [old]);
      await migrate(database);
      await database.command(
        'ALTER TABLE schema_migrations DELETE WHERE Version > 10 SETTINGS mutations_sync = 1',
      );
      expect(await migrate(database)).toHaveLength(readMigrations().length - before.length);
      await database.insertRows('scores', [scoreRowAt(Date.now() - 1000, { agentVersion: 'a2' })]);
      const rows = (table: string) =>
        database.rows(
          `SELECT ServiceVersion AS service, AgentVersion AS agent FROM ${table} ORDER BY service DESC`,
        );
      const both = [
        { service: 'v1', agent: '' },
        { service: '', agent: 'a2' },
      ];
      expect(await rows('scores')).toEqual(both);
      expect(await rows('score_arrivals')).toEqual(both);
      expect(await rows('deploy_markers')).toEqual(both);
    });
  });

  test('refuse a database of a newer program and name both versions', async () => {
    const options = storeOptions(engine);
    await (await openStore(options)).close();
    await withDatabase(options, (database) =>
      database.insertRows('schema_migrations', [{ Version: 999, Name: 'later', Checksum: 'c' }]),
    );
    for (const opened of [options, { ...options, migrate: false }]) {
      await expect(openStore(opened)).rejects.toMatchObject({
        code: 'store_newer',
        message: expect.stringMatching(new RegExp(`999.*${known}`)) as string,
        details: { current: 999, known },
      });
    }
  });

  test('refuse a database that was made by a migration of other contents', async () => {
    const options = storeOptions(engine);
    await (await openStore(options)).close();
    await withDatabase(options, async (database) => {
      const [first, ...rest] = readMigrations();
      await expect(
        migrationStatus(database, [{ ...first!, checksum: 'other' }, ...rest]),
      ).rejects.toMatchObject({
        code: 'store_rejected',
        message: expect.stringContaining('migration 1') as string,
      });
    });
  });

  test('refuse a database name that is no plain name', () => {
    expect(() => openDatabase({ ...storeOptions(engine), database: 'x`; DROP' })).toThrow(ConfigError);
  });
});

describe('retention', () => {
  testLong('is set when the store opens, and again when it changes', async () => {
    const options = storeOptions(engine);
    await (await openStore(options)).close();
    for (const retention of [
      { spansDays: 7, scoresDays: 90 },
      { spansDays: 60, scoresDays: 30 },
    ]) {
      await (await openStore({ ...options, retention })).close();
      const tables = await withDatabase(options, (database) =>
        database.rows<{ name: string; definition: string }>(
          'SELECT name, create_table_query AS definition FROM system.tables WHERE database = {name:String}',
          { name: options.database },
        ),
      );
      for (const { table, column, days } of listExpiries(retention)) {
        const definition = tables.find(({ name }) => name === table)?.definition ?? '';
        expect([table, column, currentDays(definition, column)]).toEqual([table, column, days]);
      }
    }
  });

  test('refuses days that no one can mean', async () => {
    const options = storeOptions(engine);
    const retention = { spansDays: 0, scoresDays: 400 };
    await expect(openStore({ ...options, retention })).rejects.toMatchObject({ code: 'config_invalid' });
  });
});

describe('merge settings', () => {
  test('are set when the store opens, and not again', async () => {
    const options = storeOptions(engine);
    await (await openStore(options)).close();

    const altered: string[] = [];
    await withDatabase(options, async (database) => {
      await applyMergeSettings(
        { command: async (sql) => void altered.push(sql) },
        await readDefinitions(database),
      );
    });

    expect(altered).toEqual([]);
  });

  testLong('let merges rewrite a row of many small inserts a few times only', async () => {
    const options = storeOptions(engine);
    const store = await openStore(options);
    for (let insert = 0; insert < 120; insert++) {
      await store.scores.write([buildScore({ scoreId: randomUUID(), traceId: newTraceId() })]);
    }
    await store.close();

    const [parts] = await withDatabase(options, (database) =>
      database.rows<{ amount: string; merged: string; stored: string }>(
        `SELECT toString(count()) AS amount, toString(max(level)) AS merged, toString(sum(rows)) AS stored
         FROM system.parts WHERE database = currentDatabase() AND active AND table = 'score_arrivals'`,
      ),
    );
    expect(Number(parts?.stored)).toBe(120);
    expect(Number(parts?.merged)).toBeLessThanOrEqual(3);
    expect(Number(parts?.amount)).toBeLessThanOrEqual(40);
  });
});
