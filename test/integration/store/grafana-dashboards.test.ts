import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listSql } from '../../support/documents/lint-sql.ts';
import { OPERATIONS_DASHBOARD } from '../../../tools/deploy/grafana/operations-dashboard.ts';
import { QUALITY_DASHBOARD } from '../../../tools/deploy/grafana/quality-dashboard.ts';
import { queryRows, type ClickHouseAddress } from '../../support/store/clickhouse-query.ts';
import { fillTable, listTables } from '../../support/store/filled-tables.ts';
import { testStore, type TestStore } from '../../support/store/store-rows.ts';

const HOUR_S = 3_600;
/** Hours that the dashboard shows; the older rows are of the week before. */
const SHOWN_HOURS = 4;
const ROWS = 8;

/** One row for each of the last eight hours: a mean of 0.5 in the four that are shown, of 0.8 before them. */
const VALUES: Readonly<Record<string, string>> = {
  Bucket: 'now64(3) - toIntervalHour(number) - toIntervalMinute(1)',
  Tenant: "'acme'",
  Scorer: "'grounding'",
  Target: "'trace'",
  Fingerprint: "'0123456789abcdef'",
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

/** A scorer whose judge was changed an hour ago: a mean of 0.8 of the former fingerprint, and of 0.2 of the new one since. */
const CHANGED: Readonly<Record<string, string>> = {
  ...VALUES,
  Scorer: "'changed'",
  Fingerprint: `if(number < 2, 'fedcba9876543210', '0123456789abcdef')`,
  Total: 'if(number < 2, 0.4, 1.6)',
};

/** Scores of sessions by the same scorer as those of traces, in the shown time only. */
const SESSIONS: Readonly<Record<string, string>> = { ...VALUES, Target: "'session'", Total: '1.8' };

let base: TestStore;
let owner: ClickHouseAddress;

beforeAll(async () => {
  base = await testStore();
  owner = base.options;
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
    const fill = (rows: number, values: Readonly<Record<string, string>>) =>
      fillTable(
        owner,
        table,
        rows,
        Object.fromEntries(Object.entries(values).filter(([name]) => names.has(name))),
      );
    await fill(ROWS, VALUES);
    if (table.table === 'score_hours') {
      await fill(ROWS, CHANGED);
      await fill(SHOWN_HOURS, SESSIONS);
    }
  }
}, 120_000);

afterAll(() => base.stop());

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

/** Values of the variables; one scorer, tenant, agent and environment. */
const CHOSEN = { tenant: 'acme', scorer: 'grounding', agent: 'weather', environment: 'production' };

/** Every statement of the dashboards, with the name of the part that asks it. */
const statements = [QUALITY_DASHBOARD, OPERATIONS_DASHBOARD]
  .flatMap(listSql)
  .map(({ where, sql }) => [where, sql] as const);

function statementsOf(title: string): string[] {
  return statements.filter(([name]) => name === title).map(([, sql]) => sql);
}

describe('the SQL of the dashboards', () => {
  it.each(statements)('%s yields rows', async (_title, sql) => {
    expect(await queryRows(owner, expand(sql))).not.toEqual([]);
    expect(await queryRows(owner, expand(sql, CHOSEN))).not.toEqual([]);
  });

  it.each(statements.filter(([, sql]) => sql.includes('$__conditionalAll(Scorer')))(
    '%s has none for a scorer that nobody has, and none for another tenant',
    async (_title, sql) => {
      expect(await queryRows(owner, expand(sql, { ...CHOSEN, scorer: "it''s none" }))).toEqual([]);
      expect(await queryRows(owner, expand(sql, { ...CHOSEN, tenant: 'other' }))).toEqual([]);
    },
  );

  const means = async (sql = '', scorer = 'grounding') => {
    const rows = await queryRows<{ series: string; mean: number }>(owner, expand(sql, { ...CHOSEN, scorer }));
    return new Set(rows.map(({ series, mean }) => `${series}: ${mean}`));
  };

  it('shows the weighted mean of each hour, and that of the week before', async () => {
    const [shown, before] = statementsOf('Weighted mean and baseline');

    expect(await means(shown)).toEqual(new Set(['grounding: 0.5', 'grounding of session: 0.9']));
    expect(await means(before)).toEqual(new Set(['grounding, week before: 0.8']));
  });

  it('has a line for each fingerprint, and no week before for a new one', async () => {
    const [shown, before] = statementsOf('Weighted mean and baseline');

    expect(await means(shown, 'changed')).toEqual(
      new Set(['changed fedcba98: 0.2', 'changed 01234567: 0.8']),
    );
    expect(await means(before, 'changed')).toEqual(new Set(['changed 01234567, week before: 0.8']));
  });

  it('compares the shown time with the week before, each fingerprint with itself', async () => {
    const [sql = ''] = statementsOf('Against the week before');

    const compared = (scorer: string) =>
      queryRows<Record<string, unknown>>(owner, expand(sql, { ...CHOSEN, scorer }));

    const [, grounding] = await compared('grounding');
    expect(grounding).toMatchObject({ Target: 'trace', mean: 0.5, 'week before': 0.8 });
    expect(grounding).toMatchObject({ 'effective traces': SHOWN_HOURS });
    expect(grounding?.['difference']).toBeCloseTo(-0.3);
    expect(await compared('changed')).toMatchObject([
      { fingerprint: 'fedcba98', mean: 0.2, 'week before': null, difference: null },
      { fingerprint: '01234567', mean: 0.8, 'week before': 0.8, difference: 0 },
    ]);
  });
});
