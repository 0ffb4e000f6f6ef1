import { stringify } from 'yaml';
import { nameSection, SPANSCORE_ALERTS, type SpanscoreAlert } from './spanscore-alerts.ts';

const HEADER = `# Alert rules of Grafana on spanscore itself, with the conditions of deploy/prometheus/rules/alerts.yml: use these or those, not both.
# They need the recording rules of deploy/prometheus and the data source of provisioning/datasources. Grafana replaces \${SPANSCORE_DOCS}.
# Made by tools/deploy/alert-rules.
`;

/** Data source of provisioning/datasources. */
const DATA_SOURCE = 'spanscore-prometheus';

/** Grafana's name for its own expressions. */
const EXPRESSION = '__expr__';

const QUERY = 'A';
const CONDITION = 'B';

/** Time in which an instant query looks for its samples, seconds. */
const LOOK_BACK_S = 600;

/** Returns deploy/grafana/alerting/spanscore.yaml. */
export function renderGrafanaAlerts(): string {
  const group = {
    orgId: 1,
    name: 'spanscore',
    folder: 'spanscore',
    interval: '1m',
    rules: SPANSCORE_ALERTS.map(renderRule),
  };
  return HEADER + stringify({ apiVersion: 1, groups: [group] }, { lineWidth: 0, singleQuote: true });
}

function renderRule(alert: SpanscoreAlert): Record<string, unknown> {
  const { name, severity } = alert;
  return {
    uid: toUid(name),
    title: name,
    condition: CONDITION,
    data: [renderQuery(alert), renderThreshold(alert)],
    // A query without a result has nothing to tell: SpanscoreNotScraped tells that all are missing.
    noDataState: 'OK',
    execErrState: 'Error',
    for: alert.for ?? '0s',
    labels: { severity },
    annotations: {
      summary: toGrafanaTemplate(alert.summary),
      runbook_url: `\${SPANSCORE_DOCS}/${nameSection(name)}`,
    },
  };
}

function renderQuery({ query }: SpanscoreAlert): Record<string, unknown> {
  return {
    refId: QUERY,
    relativeTimeRange: { from: LOOK_BACK_S, to: 0 },
    datasourceUid: DATA_SOURCE,
    model: { refId: QUERY, expr: query, instant: true, range: false, editorMode: 'code' },
  };
}

function renderThreshold({ fires }: SpanscoreAlert): Record<string, unknown> {
  const evaluator =
    'above' in fires ? { type: 'gt', params: [fires.above] } : { type: 'lt', params: [fires.below] };
  return {
    refId: CONDITION,
    relativeTimeRange: { from: LOOK_BACK_S, to: 0 },
    datasourceUid: EXPRESSION,
    model: { refId: CONDITION, type: 'threshold', expression: QUERY, conditions: [{ evaluator }] },
  };
}

/**
 * Returns a summary as Grafana reads it. Its `$value` is a text with all values, not a number. A name with `$` would be replaced by a
 * variable of the environment when Grafana loads the file, so fields of the template's data stand for `$labels` and `$value`.
 */
function toGrafanaTemplate(summary: string): string {
  return summary.replaceAll('$labels.', '.Labels.').replaceAll('$value', `.Values.${QUERY}.Value`);
}

/** Returns the name in small letters, with a hyphen between words: `spanscore-disk-fills`. */
function toUid(name: string): string {
  return name.replaceAll(/(?<!^)([A-Z])/g, '-$1').toLowerCase();
}
