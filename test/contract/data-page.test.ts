import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { listExpiries } from '../../src/store/schema/table-settings.ts';
import { buildPurgeTables, isKept } from '../../src/store/purge/purge-tables.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/data.md');
const schema = read('schemas/clickhouse/schema.sql');

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

it('a purge deletes from every table that names a trace, a score, a session or a user', () => {
  const tables = [...schema.matchAll(/^CREATE TABLE IF NOT EXISTS (\w+)\n\((.*?)^\)/gms)];
  const naming = tables.filter(([, , columns = '']) =>
    /`(?:TraceId|ScoreId|SessionId|UserId)`/.test(columns),
  );
  const left = naming.filter(([, name = '', columns = '']) => {
    const names = [...columns.matchAll(/^ {4}`([\w.]+)`/gm)].map(([, column = '']) => column);
    return !isKept(name) && buildPurgeTables('', name, new Set(names)).length === 0;
  });

  expect(naming.length).toBeGreaterThan(12);
  expect(left.map(([, name]) => name)).toEqual([]);
  expect(naming.map(([, name = '']) => name).filter(isKept)).toEqual(['spend']);
});

it('SECURITY.md names a test that exists for each promise', () => {
  const promises = read('SECURITY.md')
    .split('\n')
    .filter((line) => /^\| (?!asset|---)/u.test(line));
  const named = promises.map((line) => [...line.matchAll(/`([\w/.-]+\.test\.ts)`|`npm run check`/gu)]);

  expect(promises.length).toBeGreaterThan(10);
  expect(promises.filter((_, at) => named[at]?.length === 0)).toEqual([]);
  const files = named.flat().flatMap(([, file]) => file ?? []);
  expect(files.filter((file) => !existsSync(new URL(`test/${file}`, root)))).toEqual([]);
});
