import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { findAskedMetrics } from '../../support/documents/asked-metrics.ts';
import { renderDashboard } from '../../../tools/deploy/grafana/dashboard.ts';
import { findBrokenRules, listSql, SQL_RULES, type SqlQuery } from '../../support/documents/lint-sql.ts';
import { OPERATIONS_DASHBOARD } from '../../../tools/deploy/grafana/operations-dashboard.ts';
import { QUALITY_DASHBOARD } from '../../../tools/deploy/grafana/quality-dashboard.ts';
import { hasProgram } from '../../support/processes/installed-program.ts';

const deploy = fileURLToPath(new URL('../../../deploy/', import.meta.url));
const DASHBOARDS = [
  ['quality', QUALITY_DASHBOARD],
  ['operations', OPERATIONS_DASHBOARD],
] as const;

interface PanelModel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly refId: string }[];
}

interface DashboardModel {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly PanelModel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
}

function readYaml(path: string): unknown {
  return parse(readFileSync(join(deploy, path), 'utf8'));
}

describe.each(DASHBOARDS)('the dashboard %s', (name, dashboard) => {
  const text = renderDashboard(dashboard);
  const model = JSON.parse(text) as DashboardModel;
  const panels = model.panels.filter(({ type }) => type !== 'row');

  it('is stored as the code makes it (after a change: vitest run --project contract grafana-dashboards -u)', async () => {
    await expect(text).toMatchFileSnapshot(join(deploy, `grafana/dashboards/${name}.json`));
  });

  it('asks the data sources that its variables choose, and no others', () => {
    const chosen = model.templating.list
      .filter(({ type }) => type === 'datasource')
      .map((variable) => `\${${variable.name}}`);
    const asked = [...text.matchAll(/"datasource": \{\s*"type": "[\w-]+",\s*"uid": "([^"]*)"/g)];

    expect(asked.length).toBeGreaterThan(panels.length);
    expect([...new Set(asked.map(([, uid]) => uid))]).toEqual(chosen);
  });

  it('has a uid, a title, and for each panel an id, a title, a description and queries of its own', () => {
    expect([model.uid, model.title]).toEqual([
      expect.stringMatching(/^[\w-]{1,40}$/),
      expect.stringMatching(/./),
    ]);
    expect(new Set(model.panels.map(({ id }) => id)).size).toBe(model.panels.length);
    for (const { title, description = '', targets = [] } of panels) {
      expect([title, description]).toEqual([expect.stringMatching(/./), expect.stringMatching(/\.$/)]);
      expect(targets.length).toBeGreaterThan(0);
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
    }
  });

  it('has no panels that overlap or leave the page', () => {
    const cells = model.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    );

    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...model.panels.map(({ gridPos: { x, w } }) => x + w))).toBeLessThanOrEqual(24);
  });
});

describe('the queries of the dashboards to ClickHouse', () => {
  const queries = listSql(QUALITY_DASHBOARD).map((query) => [query.where, query] as const);

  it('are those of panels, of variables and of annotations', () => {
    expect(new Set(queries.map(([, { kind }]) => kind))).toEqual(
      new Set(['panel', 'variable', 'annotation']),
    );
    expect(listSql(OPERATIONS_DASHBOARD)).toEqual([]);
  });

  it.each(queries)('%s keeps the rules of the plugin', (_where, query) => {
    expect(findBrokenRules(query, QUALITY_DASHBOARD)).toEqual([]);
  });

  const right = `SELECT $__timeInterval(Bucket) AS time, sum(Scores) AS scores
FROM score_hours
WHERE $__timeFilter(Bucket) AND $__conditionalAll(Agent IN (\${agent:singlequote}), $agent)
GROUP BY time
ORDER BY time`;

  /** Returns the rules that are broken once a part of a right query is replaced. */
  function breakQuery(part: string, replacement: string, more: Partial<SqlQuery> = {}): string[] {
    expect(right).toContain(part);
    const sql = right.replace(part, () => replacement);
    const query = { where: 'a panel', kind: 'panel', format: 'timeseries', ...more, sql } as const;
    return findBrokenRules(query, QUALITY_DASHBOARD);
  }

  it('would be found right when nothing is wrong', () => {
    expect(breakQuery('FROM', 'FROM')).toEqual([]);
  });

  /** A rule, a part of the right query, and what breaks the rule in its place. */
  const broken: readonly (readonly [keyof typeof SQL_RULES, string, string])[] = [
    ['quoted', '(${agent:singlequote})', '($agent)'],
    ['quoted', '(${agent:singlequote})', '(${agent})'],
    ['quoted', '(${agent:singlequote})', '(${agent:csv})'],
    ['unquotedAround', 'IN (${agent:singlequote})', "IN ('${agent:singlequote}')"],
    ['all', '$__conditionalAll(Agent IN (${agent:singlequote}), $agent)', 'Agent IN (${agent:singlequote})'],
    ['plainChoice', ', $agent)', ', ${agent:singlequote})'],
    ['plainChoice', ', $agent)', ', $scorer)'],
    ['known', '${agent:singlequote}), $agent)', '${agents:singlequote}), $agents)'],
    ['macros', '$__timeInterval(Bucket)', '$__timeInterval(Bucket, 1)'],
    ['macros', '$__timeInterval(Bucket)', '$__timeIntervall(Bucket)'],
    ['time', '$__timeFilter(Bucket)', 'Bucket > now() - 3600'],
    ['hasToken', 'AND $__conditionalAll', "AND hasToken(Agent, 'a') AND $__conditionalAll"],
    ['series', '\nORDER BY time', ''],
    ['series', 'ORDER BY time', 'ORDER BY time DESC'],
    ['series', 'AS time', 'AS hour'],
    ['oneStatement', 'ORDER BY time', 'ORDER BY time;'],
    ['oneStatement', 'ORDER BY time', 'ORDER BY time FORMAT JSON'],
  ];

  it.each(broken)('would break the rule %s with %s as %s', (rule, part, replacement) => {
    expect(breakQuery(part, replacement)).toContain(SQL_RULES[rule].name);
  });

  it('break each rule in a test', () => {
    expect(new Set(broken.map(([rule]) => rule))).toEqual(new Set(Object.keys(SQL_RULES)));
  });
});

const expressions = DASHBOARDS.flatMap(([, { rows }]) => rows)
  .flatMap(({ panels }) => panels)
  .flatMap(({ targets }) => targets)
  .flatMap((target) => (target.kind === 'promql' ? [target.expr] : []));

describe('the queries of the dashboards to Prometheus', () => {
  it('ask only for metrics that a process has, and for recorded ones', () => {
    const { groups } = readYaml('prometheus/rules/recording.yml') as {
      groups: { rules: { record: string }[] }[];
    };
    const recorded = new Set(groups.flatMap(({ rules }) => rules.map(({ record }) => record)));

    const { asked, unknown } = findAskedMetrics(expressions, recorded);

    expect(asked.length).toBeGreaterThanOrEqual(expressions.length - 1);
    expect(unknown).toEqual([]);
  });
});

const hasPromtool = hasProgram('promtool', 'the PromQL of the dashboards', 'apt-get install prometheus');

describe.skipIf(!hasPromtool)('promtool', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'spanscore-promql-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  function check(exprs: readonly string[]): number | null {
    const file = join(folder, 'rules.yml');
    const rules = exprs.map((expr, index) => ({ record: `query_${index}`, expr }));
    // Every JSON document is also a YAML document.
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboards', rules }] }));
    return spawnSync('promtool', ['check', 'rules', file]).status;
  }

  it('reads each query of the dashboards', () => {
    expect(check(expressions)).toBe(0);
  });

  it('refuses one that cannot be read', () => {
    expect(check(['sum by (model (spanscore_judge_calls_total)'])).not.toBe(0);
  });
});

describe('what Grafana is provisioned with', () => {
  it('has a data source for each plugin that the dashboards ask for', () => {
    const { datasources } = readYaml('grafana/provisioning/datasources/spanscore.yaml') as {
      datasources: { type: string; uid: string }[];
    };
    const plugins = DASHBOARDS.flatMap(([, { variables }]) =>
      variables.flatMap((variable) => (variable.kind === 'datasource' ? [variable.plugin] : [])),
    );

    expect(datasources.map(({ type }) => type)).toEqual(plugins);
    expect(new Set(datasources.map(({ uid }) => uid)).size).toBe(datasources.length);
  });

  it('has no password in its files', () => {
    const text = readFileSync(join(deploy, 'grafana/provisioning/datasources/spanscore.yaml'), 'utf8');

    expect([...text.matchAll(/password: (.*)/g)].map(([, value]) => value)).toEqual([
      '${CLICKHOUSE_READER_PASSWORD}',
    ]);
  });
});
