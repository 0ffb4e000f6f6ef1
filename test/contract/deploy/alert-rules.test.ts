import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { renderGrafanaAlerts } from '../../../tools/deploy/alert-rules/grafana-rules.ts';
import { renderOperatorRules } from '../../../tools/deploy/alert-rules/operator-rules.ts';
import { renderPrometheusAlerts } from '../../../tools/deploy/alert-rules/prometheus-rules.ts';
import { leadsToHeading } from '../../support/documents/markdown-links.ts';
import { hasProgram } from '../../support/processes/installed-program.ts';

const deploy = fileURLToPath(new URL('../../../deploy/', import.meta.url));
const root = fileURLToPath(new URL('../../../', import.meta.url));

interface PrometheusRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Query {
  readonly refId: string;
  readonly datasourceUid: string;
  readonly model: {
    readonly expr?: string;
    readonly type?: string;
    readonly expression?: string;
    readonly conditions?: readonly [
      { readonly evaluator: { readonly type: 'gt' | 'lt'; readonly params: readonly [number] } },
    ];
  };
}

interface GrafanaRule {
  readonly uid: string;
  readonly title: string;
  readonly condition: string;
  readonly data: readonly Query[];
  readonly noDataState: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

function readYaml(path: string): unknown {
  return parse(readFileSync(join(deploy, path), 'utf8'));
}

function listRules(path: string): readonly unknown[] {
  const { groups } = readYaml(path) as { groups: { rules: unknown[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

const OPERATORS = { gt: '>', lt: '<' };

/** Returns the condition of a rule as Prometheus would ask it: the query, compared with the bound of the threshold. */
function readCondition({ condition, data }: GrafanaRule): string {
  const threshold = data.find(({ refId }) => refId === condition);
  const query = data.find(({ refId }) => refId === threshold?.model.expression);
  const evaluator = threshold?.model.conditions?.[0].evaluator;
  const operator = evaluator === undefined ? '' : OPERATORS[evaluator.type];
  return `${query?.model.expr} ${operator} ${evaluator?.params[0]}`;
}

/** Returns a rule of Grafana as one of Prometheus. */
function toPrometheus(rule: GrafanaRule): PrometheusRule {
  const { title, labels } = rule;
  return { alert: title, expr: readCondition(rule), ...(rule.for === '0s' ? {} : { for: rule.for }), labels };
}

const ofGrafana = listRules('grafana/alerting/spanscore.yaml') as GrafanaRule[];
const ofPrometheus = listRules('prometheus/rules/alerts.yml') as PrometheusRule[];

describe('the alerts on spanscore itself', () => {
  it.each([
    ['prometheus/rules/alerts.yml', renderPrometheusAlerts],
    ['grafana/alerting/spanscore.yaml', renderGrafanaAlerts],
    ['kubernetes/common/prometheus-rule.yaml', renderOperatorRules],
  ])(
    '%s is as the code makes it (after a change: vitest run --project contract alert-rules -u)',
    async (path, render) => {
      await expect(render()).toMatchFileSnapshot(join(deploy, path));
    },
  );

  it('have the same conditions, times and severities in Grafana and in Prometheus', () => {
    const written = ofPrometheus.map(({ alert, expr, labels, ...rule }) => ({
      alert,
      expr,
      ...(rule.for === undefined ? {} : { for: rule.for }),
      labels,
    }));

    expect(ofGrafana.length).toBeGreaterThan(0);
    expect(ofGrafana.map(toPrometheus)).toEqual(written);
  });
});

describe('the PrometheusRule of Kubernetes', () => {
  it('has every group of Prometheus, and no other', () => {
    const files = ['prometheus/rules/recording.yml', 'prometheus/rules/alerts.yml'];
    const groups = files.flatMap((path) => (readYaml(path) as { groups: unknown[] }).groups);

    expect(groups.length).toBeGreaterThan(2);
    expect(readYaml('kubernetes/common/prometheus-rule.yaml')).toMatchObject({ spec: { groups } });
  });
});

describe.each(ofGrafana.map((rule) => [rule.title, rule] as const))(
  'the rule %s of Grafana',
  (title, rule) => {
    it('has an id of its own, which Grafana accepts', () => {
      expect(rule.uid).toMatch(/^[a-z-]{1,40}$/);
      expect(ofGrafana.filter(({ uid }) => uid === rule.uid)).toHaveLength(1);
    });

    it('asks the data source of the provisioning, and itself for the threshold', () => {
      const { datasources } = readYaml('grafana/provisioning/datasources/spanscore.yaml') as {
        datasources: { uid: string; type: string }[];
      };
      const prometheus = datasources.find(({ type }) => type === 'prometheus');

      expect(rule.data.map(({ datasourceUid }) => datasourceUid)).toEqual([prometheus?.uid, '__expr__']);
      expect(rule.data.at(-1)?.model.type).toBe('threshold');
      expect(rule.noDataState).toBe('OK');
    });

    it('links its section of the page', () => {
      const { runbook_url: link } = rule.annotations;

      expect(link).toBe(`\${SPANSCORE_DOCS}/operations.md#${title.toLowerCase()}`);
      expect(leadsToHeading(root, link.replace('${SPANSCORE_DOCS}', 'docs'))).toBe(true);
    });

    it('names no variable in its summary that Grafana would replace when it loads the file', () => {
      expect(rule.annotations.summary).not.toContain('$');
      const values = [...rule.annotations.summary.matchAll(/\.Values\.(\w+)\.Value/g)].map(
        ([, refId]) => refId,
      );
      expect(rule.data.map(({ refId }) => refId)).toEqual(expect.arrayContaining(values));
    });
  },
);

const hasPromtool = hasProgram('promtool', 'the conditions of Grafana', 'apt-get install prometheus');

describe.skipIf(!hasPromtool)('promtool', () => {
  let scratch: string;

  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'spanscore-grafana-rules-'));
  });

  afterEach(() => {
    rmSync(scratch, { recursive: true });
  });

  it('reads each query of Grafana by itself', () => {
    const queries = ofGrafana.flatMap(({ data }) => data.flatMap(({ model: { expr } }) => expr ?? []));
    const rules = join(scratch, 'rules.yml');
    const recorded = queries.map((expr, index) => ({ record: `query_${index}`, expr }));
    writeFileSync(rules, JSON.stringify({ groups: [{ name: 'queries', rules: recorded }] }));

    expect(queries).toHaveLength(ofGrafana.length);
    expect(execFileSync('promtool', ['check', 'rules', rules], { encoding: 'utf8' })).toContain('SUCCESS');
  });
});
