import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbeddedEngine, type EmbeddedEngine } from '../../../../src/store/embedded/engine.ts';
import { sqlString } from '../../../../src/store/embedded/sql-statement.ts';
import { readableTables } from '../../../../src/store/schema/readable-tables.ts';
import { openStore } from '../../../../src/store/store.ts';
import { queryRows, type ClickHouseAddress } from '../../../support/store/clickhouse-query.ts';
import { fillTable, listTables, type TableColumns } from '../../../support/store/filled-tables.ts';

const page = readFileSync(new URL('../../../../docs/sql.md', import.meta.url), 'utf8');
const dataDir = mkdtempSync(join(tmpdir(), 'spanscore-sql-'));
const database = 'spanscore';
let engine: EmbeddedEngine;
let owner: ClickHouseAddress;
let reader: ClickHouseAddress;
let tables: TableColumns[];

/** Rows of a running spanscore. */
const VALUES = {
  TraceId: "concat('trace-', toString(number))",
  SpanAttributes: "map('gen_ai.tool.name', 'search', 'gen_ai.operation.name', 'execute_tool')",
  Status: "['scored', 'failed', 'deferred', 'sampled_out'][number % 4 + 1]",
  Stratum: "'uniform'",
  Source: "'live'",
  Weight: '1 + number',
  HigherIsBetter: 'true',
  IsDeleted: '0',
};

beforeAll(async () => {
  const account = { username: 'analyst', password: 'of the page' };
  engine = await startEmbeddedEngine({
    dataDir,
    readers: [{ ...account, database, tables: readableTables().map(({ name }) => name) }],
  });
  const { url, username, password } = engine;
  owner = { url, username, password, database };
  reader = { url, ...account, database };
  const store = await openStore({ ...owner, retention: { spansDays: 30, scoresDays: 400 } });
  await store.close();
  tables = await listTables(owner);
  for (const table of tables) {
    const names = new Set(table.columns.map(({ name }) => name));
    await fillTable(
      owner,
      table,
      8,
      Object.fromEntries(Object.entries(VALUES).filter(([name]) => names.has(name))),
    );
  }
}, 120_000);

afterAll(async () => {
  await engine.stop();
  rmSync(dataDir, { recursive: true });
});

function section(title: string): string {
  return page.split(/^## /mu).find((text) => text.startsWith(`${title}\n`)) ?? '';
}

function sqlBlocks(text: string): string[] {
  return [...text.matchAll(/```sql\n(.*?)```/gsu)].map(([, sql = '']) => sql);
}

describe('docs/sql.md', () => {
  it('has twelve queries that a reader runs, and each yields rows', async () => {
    const queries = sqlBlocks(section('Twelve queries'));
    expect(queries).toHaveLength(12);
    for (const query of queries) {
      const url = `${reader.url}?param_trace=trace-0`;
      const rows = await queryRows({ ...reader, url }, query);
      expect([query, rows.length > 0]).toEqual([query, true]);
    }
  });

  it('has every table and column with its type', () => {
    const told = section('Tables and columns')
      .split(/^### /mu)
      .slice(1)
      .map((text) => ({
        table: /^`(\w+)`/u.exec(text)?.[1],
        columns: [...text.matchAll(/^\| `(.+)` \| `(.+)` \|$/gmu)].map(([, name, type]) => ({ name, type })),
      }));

    expect(told.sort((a, b) => String(a.table).localeCompare(String(b.table)))).toEqual(
      tables.toSorted((a, b) => a.table.localeCompare(b.table)),
    );
    expect([...readableTables().map(({ name }) => name), 'cookie_keys'].sort()).toEqual(
      tables.map(({ table }) => table).sort(),
    );
  });

  it('has statements for a server that ClickHouse understands', async () => {
    const statements = sqlBlocks(page)
      .flatMap((block) => block.split(/;\n/u))
      .filter((statement) => statement.trim() !== '');
    for (const statement of statements) {
      const [row] = await queryRows(owner, `SELECT formatQuery(${sqlString(statement)}) != '' AS isRead`);
      expect([statement, row]).toEqual([statement, { isRead: 1 }]);
    }
    expect(statements.length).toBeGreaterThan(18);
  });
});
