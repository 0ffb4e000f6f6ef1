import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { listExpiries } from '../../src/store/schema/retention.ts';
import { readBlocks } from '../support/documents/quickstarts.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/data.md');
const schema = globSync('schemas/clickhouse/*.sql', { cwd: root })
  .toSorted()
  .map((path) => read(path))
  .join('\n');

/** The days of each table as the page states them; null where rows never expire. */
function statedDays(): Map<string, number | null> {
  const rows = page.matchAll(/^\| `(\w+)` \|.*\| (\d+|no end)[^|\n]*\|$/gm);
  return new Map([...rows].map(([, table = '', days]) => [table, days === 'no end' ? null : Number(days)]));
}

/** The days of each table in the schema, and over them what the default retention sets. */
function realDays(): Map<string, number | null> {
  const tables = schema.matchAll(/^CREATE TABLE IF NOT EXISTS (\w+)\n\(.*?^\)(.*?);/gms);
  const fixed = [...tables].map(([, table = '', options = '']): [string, number | null] => {
    const days = /TTL .*(?:toIntervalDay\(|INTERVAL )(\d+)/.exec(options)?.[1];
    return [table, days === undefined ? null : Number(days)];
  });
  const configured = listExpiries({ spansDays: 30, scoresDays: 400 }).filter(
    ({ column }) => column === undefined,
  );
  return new Map([...fixed, ...configured.map(({ table, days }): [string, number] => [table, days])]);
}

it('docs/data.md names every table, and how long its rows are kept', () => {
  expect(Object.fromEntries(statedDays())).toEqual(Object.fromEntries(realDays()));
});

it('docs/data.md shows the SQL that the tests run', () => {
  expect(readBlocks(page, 'sql')).toEqual([read('examples/erase/erase.sql')]);
});

it('the SQL deletes from every table that names a trace', () => {
  const sql = read('examples/erase/erase.sql');
  const tables = schema.matchAll(/^CREATE TABLE IF NOT EXISTS (\w+)\n\((.*?)^\)/gms);
  const naming = [...tables].filter(([, , columns = '']) => columns.includes('`TraceId`'));

  expect(naming.length).toBeGreaterThan(9);
  expect(
    naming.map(([, table]) => table).filter((table) => !sql.includes(`ALTER TABLE ${table} DELETE`)),
  ).toEqual([]);
});
