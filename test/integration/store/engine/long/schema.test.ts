import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError } from '../../../../../src/domain/errors.ts';
import { openDatabase } from '../../../../../src/store/open-database.ts';
import {
  applyMergeSettings,
  currentDays,
  listExpiries,
} from '../../../../../src/store/schema/table-settings.ts';
import {
  createSchema,
  readDefinitions,
  readSchema,
  readSchemaStatus,
} from '../../../../../src/store/schema/schema.ts';
import { openStore, readStoreSchema, type StoreOptions } from '../../../../../src/store/store.ts';
import { testEngine, type TestEngine } from '../../../../support/store/engine.ts';
import {
  buildScore,
  newTraceId,
  spanBlock,
  buildSpan,
  storeOptions,
} from '../../../../support/store/store-rows.ts';

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

/** Names of the tables and views of a database, with the time of their last change. */
const listTables = (options: StoreOptions) =>
  withDatabase(options, (database) =>
    database.outside.rows<{ name: string; changed: string }>(
      'SELECT name, toString(metadata_modification_time) AS changed FROM system.tables WHERE database = {name:String} ORDER BY name',
      { name: options.database },
    ),
  );

describe('the schema of a store', () => {
  const { version: known, statements } = readSchema();

  test('is made once, all of it', async () => {
    const options = storeOptions(engine);
    expect(await readStoreSchema(options)).toMatchObject({ state: 'empty', schema: undefined, known });
    expect(await listTables(options)).toEqual([]);
    await (await openStore(options)).close();
    expect(await readStoreSchema(options)).toMatchObject({ state: 'current', schema: known, pending: [] });
    expect(await withDatabase(options, (database) => createSchema(database))).toBe(0);
  });

  test('is not made by a look at a database that is not there', async () => {
    const options = storeOptions(engine);
    await readStoreSchema(options);
    const databases = await withDatabase(options, (database) =>
      database.outside.rows<{ name: string }>('SELECT name FROM system.databases'),
    );
    expect(databases.map(({ name }) => name)).not.toContain(options.database);
  });

  test('is one when several programs open the store at once', async () => {
    const options = storeOptions(engine);
    const stores = await Promise.all([openStore(options), openStore(options)]);
    await stores[0].sink.insert(spanBlock([buildSpan()]), 'one');
    const rows = await withDatabase(options, (database) =>
      database.rows<{ rows: number }>('SELECT count() AS rows FROM trace_arrivals'),
    );
    expect(rows).toEqual([{ rows: 1 }]);
    await Promise.all(stores.map((store) => store.close()));
  });

  test('is that of one of two programs with different schemas that start at once, and the other one writes nothing', async () => {
    const options = storeOptions(engine);
    const other = {
      version: 'a'.repeat(64),
      statements: ['CREATE TABLE IF NOT EXISTS otel_traces (Other Int8) ENGINE = Memory'],
    };
    const outcomes = await Promise.allSettled(
      [readSchema(), other].map((schema) =>
        withDatabase(options, (database) => createSchema(database, schema)),
      ),
    );
    const { schema } = await readStoreSchema(options);
    expect(outcomes.map(({ status }) => status)).toEqual([
      schema === known ? 'fulfilled' : 'rejected',
      schema === known ? 'rejected' : 'fulfilled',
    ]);
    expect(await listTables(options)).toHaveLength(schema === known ? statements.length + 1 : 2);
  });

  test('is completed where a kill left it', async () => {
    const options = storeOptions(engine);
    await withDatabase(options, async (database) => {
      const half = { version: known, statements: statements.slice(0, 1) };
      await createSchema(database, half);
      expect(await readSchemaStatus(database)).toMatchObject({ state: 'incomplete', schema: known });
      expect(await createSchema(database)).toBe(statements.length - 1);
      expect(await readSchemaStatus(database)).toMatchObject({ state: 'current' });
    });
  });

  test.each([
    [
      'another schema',
      "CREATE VIEW schema_version AS SELECT '0123456789abcdef' AS Version",
      /has schema 0123456789ab, .*export its scores with the version that made it, or delete it/,
    ],
    [
      'numbered migrations',
      'CREATE TABLE schema_migrations (Version UInt32) ENGINE = MergeTree ORDER BY Version',
      /has schema without a version, .*export its scores with the version that made it, or delete it/,
    ],
    [
      'tables of another program',
      'CREATE TABLE otel_traces (TraceId String) ENGINE = MergeTree ORDER BY TraceId',
      /otel_traces.*set store\.database to another name/,
    ],
  ])('refuses a store with %s before anything is written', async (_, statement, message) => {
    const options = storeOptions(engine);
    await withDatabase(options, async ({ outside }) => {
      await outside.command(`CREATE DATABASE ${options.database}`);
      await outside.command(statement.replace(/(VIEW|TABLE) /u, `$1 ${options.database}.`));
    });
    const before = await listTables(options);

    for (const opened of [options, { ...options, migrate: false }]) {
      await expect(openStore(opened)).rejects.toMatchObject({
        code: 'store_foreign',
        message: expect.stringMatching(message) as string,
      });
    }
    expect(await readStoreSchema(options)).toMatchObject({ state: 'foreign', pending: [] });
    expect(await listTables(options)).toEqual(before);
  });

  test('needs a database name that is a plain name', () => {
    expect(() => openDatabase({ ...storeOptions(engine), database: 'x`; DROP' })).toThrow(ConfigError);
  });
});

describe('retention', () => {
  test('is set when the store opens, and again when it changes', async () => {
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

  test('let merges rewrite a row of many small inserts a few times only', async () => {
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
