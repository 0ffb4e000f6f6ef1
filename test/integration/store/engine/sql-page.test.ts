import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sqlString } from '../../../../src/store/embedded/sql-statement.ts';
import { readableTables } from '../../../../src/store/sql-statements.ts';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import { fillTable, listTables, type TableColumns } from '../../../support/store/filled-tables.ts';
import { testStore, type TestStore } from '../../../support/store/store-rows.ts';

const page = readFileSync(new URL('../../../../docs/sql.md', import.meta.url), 'utf8');
let base: TestStore;
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
  base = await testStore();
  tables = await listTables(base.options);
  for (const table of tables) {
    const names = new Set(table.columns.map(({ name }) => name));
    await fillTable(
      base.options,
      table,
      8,
      Object.fromEntries(Object.entries(VALUES).filter(([name]) => names.has(name))),
    );
  }
}, 120_000);

afterAll(() => base.stop());

function section(title: string): string {
  return page.split(/^## /mu).find((text) => text.startsWith(`${title}\n`)) ?? '';
}

function sqlBlocks(text: string): string[] {
  return [...text.matchAll(/```sql\n(.*?)```/gsu)].map(([, sql = '']) => sql);
}

describe('docs/sql.md', () => {
  it('has twelve queries that spanscore sql runs, and each yields rows', async () => {
    const queries = sqlBlocks(section('Twelve queries'));
    expect(queries).toHaveLength(12);
    for (const query of queries) {
      const sql = query.replaceAll('{trace:String}', "'trace-0'");
      const signal = new AbortController().signal;
      let bytes = 0;
      for await (const chunk of base.store.sql.run({ query: sql, format: 'TSV', maxSeconds: 20, signal })) {
        bytes += chunk.length;
      }
      expect([query, bytes > 0]).toEqual([query, true]);
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
    expect([...readableTables(), 'cookie_keys'].sort()).toEqual(tables.map(({ table }) => table).sort());
  });

  it('has statements for a server that ClickHouse understands', async () => {
    const statements = sqlBlocks(page)
      .flatMap((block) => block.split(/;\n/u))
      .filter((statement) => statement.trim() !== '');
    for (const statement of statements) {
      const [row] = await queryRows(
        base.options,
        `SELECT formatQuery(${sqlString(statement)}) != '' AS isRead`,
      );
      expect([statement, row]).toEqual([statement, { isRead: 1 }]);
    }
    expect(statements.length).toBeGreaterThan(18);
  });
});
