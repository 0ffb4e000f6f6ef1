import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { renderReplicated, replicatedSettings } from '../../../src/store/replicated.ts';
import { readSchema } from '../../../src/store/schema/schema.ts';

// The engine as a replica whose Keeper is a part of its process. Nobody can fetch rows from it, so its tables are read only.

const RUN_ENGINE = fileURLToPath(new URL('../../support/store/run-configured-engine.ts', import.meta.url));
const CONFIG = `<clickhouse><zookeeper><implementation>testkeeper</implementation></zookeeper>
  <macros><shard>1</shard><replica>a</replica></macros>
  <default_replica_path>/clickhouse/tables/{shard}/{database}/{table}</default_replica_path></clickhouse>`;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'spanscore-replicated-'));
  writeFileSync(join(folder, 'config.xml'), CONFIG);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the engine creates each table of the schema as a replica, and takes the settings of its statements', () => {
  const { statements } = readSchema();
  const tables = statements.filter((statement) => statement.startsWith('CREATE TABLE'));
  const settings = Object.entries(replicatedSettings('INSERT INTO decisions'))
    .map(([name, value]) => `${name} = '${String(value)}'`)
    .join(', ');

  const { status, stdout, stderr } = spawnSync(process.execPath, [RUN_ENGINE, folder], {
    encoding: 'utf8',
    timeout: 120_000,
    input: JSON.stringify([
      'CREATE DATABASE quality ENGINE = Atomic',
      'USE quality',
      ...statements.map(renderReplicated),
      `SELECT count() FROM system.replicas WHERE database = 'quality' AND zookeeper_path = '/clickhouse/tables/1/quality/' || table AND replica_name = 'a'`,
      `SELECT count() FROM decisions FINAL SETTINGS ${settings}`,
      // Its end would wait for a replica that never becomes active.
      'DROP DATABASE quality SYNC',
    ]),
  });

  expect(stderr).toBe('');
  expect(status).toBe(0);
  expect((JSON.parse(stdout) as string[]).slice(-3, -1)).toEqual([String(tables.length), '0']);
});
