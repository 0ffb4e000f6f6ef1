import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbeddedEngine, type EmbeddedEngine } from '../../../src/store/embedded/engine.ts';
import { readableTables } from '../../../src/store/schema/readable-tables.ts';
import { openStore } from '../../../src/store/store.ts';
import { OPERATIONS_DASHBOARD } from '../../support/documents/grafana/operations-dashboard.ts';
import { QUALITY_DASHBOARD } from '../../support/documents/grafana/quality-dashboard.ts';
import { queryRows, type ClickHouseAddress } from '../../support/store/clickhouse-query.ts';
import { fillTable, listTables } from '../../support/store/filled-tables.ts';

const database = 'spanscore';
const HOUR_S = 3_600;
/** Hours that the dashboard shows; the older rows are of the week before. */
const SHOWN_HOURS = 4;
const ROWS = 8;

/** One row for each of the last eight hours: a mean of 0.5 in the four that are shown, of 0.8 before them. */
const VALUES: Readonly<Record<string, string>> = {
  Bucket: 'now64(3) - toIntervalHour(number) - toIntervalMinute(1)',
  Scorer: "'grounding'",
  Agent: "'weather'",
  Environment: "'production'",
  Source: "'live'",
  Weight: '2',
  Total: `if(number < ${SHOWN_HOURS}, 1, 1.6)`,
  SquaredWeight: '4',
  Scores: '1',
  Status: "['scored', 'sampled_out'][number % 2 + 1]",
  HigherIsBetter: 'true',
  TraceTimestamp: 'now64(9) - toIntervalHour(number) - toIntervalMinute(1)',
  CalledAt: 'now64(3) - toIntervalHour(number) - toIntervalMinute(1)',
  FirstSeen: 'now64(3) - toIntervalHour(number) - toIntervalMinute(1)',
  CostUsd: '0.25',
  IsDeleted: '0',
};

let dataDir: string;
let engine: EmbeddedEngine;
let reader: ClickHouseAddress;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'spanscore-grafana-'));
  const account = { username: 'grafana', password: 'of the data source' };
  engine = await startEmbeddedEngine({
    dataDir,
    readers: [{ ...account, database, tables: readableTables().map(({ name }) => name) }],
  });
  const { url, username, password } = engine;
  const owner = { url, username, password, database };
  reader = { url, ...account, database };
  const store = await openStore({ ...owner, retention: { spansDays: 30, scoresDays: 400 } });
  await store.close();
  const asked = new Set([
    'scores',
    'score_hours',
    'score_days',
    'decision_hours',
    'judge_calls',
    'deploy_markers',
  ]);
  for (const table of (await listTables(owner)).filter((each) => asked.has(each.table))) {
    const names = new Set(table.columns.map(({ name }) => name));
    const values = Object.fromEntries(Object.entries(VALUES).filter(([name]) => names.has(name)));
    await fillTable(owner, table, ROWS, values);
  }
}, 120_000);

afterAll(async () => {
  await engine.stop();
  rmSync(dataDir, { recursive: true });
});

/** Returns the SQL that the plugin sends for a query. `chosen` has the values of the variables; a variable without one means all. */
function expand(sql: string, chosen?: Readonly<Record<string, string>>): string {
  const nowS = Math.floor(Date.now() / 1_000);
  const from = `toDateTime(${nowS - SHOWN_HOURS * HOUR_S})`;
  const to = `toDateTime(${nowS})`;
  const expanded = sql
    .replaceAll(/\$__conditionalAll\(((?:[^()]|\([^()]*\))*), \$\w+\)/g, chosen === undefined ? '1=1' : '$1')
    .replaceAll(/\$__timeFilter\((\w+)\)/g, `$1 >= ${from} AND $1 <= ${to}`)
    .replaceAll(/\$__timeInterval\((\w+)\)/g, `toStartOfInterval(toDateTime($1), INTERVAL ${HOUR_S} second)`)
    .replaceAll('$__fromTime', from)
    .replaceAll('$__toTime', to)
    .replaceAll(/\$\{(\w+):singlequote\}/g, (_variable, name: string) => `'${chosen?.[name]}'`);
  expect(expanded).not.toContain('$');
  return expanded;
}

const panels = [QUALITY_DASHBOARD, OPERATIONS_DASHBOARD].flatMap(({ rows }) =>
  rows.flatMap((row) => row.panels),
);

/** Every statement of the dashboards, with the name of the part that asks it. */
const statements = [
  ...panels.flatMap(({ title, targets }) =>
    targets.flatMap((target) => (target.kind === 'sql' ? [[title, target.sql] as const] : [])),
  ),
  ...QUALITY_DASHBOARD.annotations.map(({ name, sql }) => [name, sql] as const),
  ...QUALITY_DASHBOARD.variables.flatMap((variable) =>
    variable.kind === 'sql' ? [[variable.label, variable.sql] as const] : [],
  ),
];

function statementsOf(title: string): string[] {
  return statements.filter(([name]) => name === title).map(([, sql]) => sql);
}

describe('the SQL of the dashboards, asked by a reader', () => {
  it.each(statements)('%s yields rows', async (_title, sql) => {
    expect(await queryRows(reader, expand(sql))).not.toEqual([]);
    const chosen = { scorer: 'grounding', agent: 'weather', environment: 'production' };
    expect(await queryRows(reader, expand(sql, chosen))).not.toEqual([]);
  });

  it.each(statements.filter(([, sql]) => sql.includes('$__conditionalAll(Scorer')))(
    '%s has none for a scorer that nobody has',
    async (_title, sql) => {
      const chosen = { scorer: "it''s none", agent: 'weather', environment: 'production' };

      expect(await queryRows(reader, expand(sql, chosen))).toEqual([]);
    },
  );

  it('shows the weighted mean of each hour, and that of the week before', async () => {
    const [means = '', before = ''] = statementsOf('Weighted mean and baseline');

    const shown = await queryRows<{ mean: number }>(reader, expand(means));
    expect(new Set(shown.map(({ mean }) => mean))).toEqual(new Set([0.5]));
    const baseline = await queryRows<{ Scorer: string; mean: number }>(reader, expand(before));
    expect(baseline.map(({ Scorer, mean }) => [Scorer, mean])).toEqual([
      ['grounding, week before', 0.8],
      ['grounding, week before', 0.8],
    ]);
  });

  it('compares the shown time with the week before', async () => {
    const [sql = ''] = statementsOf('Against the week before');

    const [row] = await queryRows<Record<string, number>>(reader, expand(sql));

    expect(row).toMatchObject({ mean: 0.5, 'week before': 0.8, 'effective traces': SHOWN_HOURS });
    expect(row?.['difference']).toBeCloseTo(-0.3);
  });
});
