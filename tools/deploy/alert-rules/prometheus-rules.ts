import { stringify } from 'yaml';
import { nameSection, SPANSCORE_ALERTS, type SpanscoreAlert } from './spanscore-alerts.ts';

const HEADER = `# Alerts on spanscore itself. docs/operations.md says for each what it means and what to do. Alerts on scores are monitors: docs/alerts.md.
# Made by tools/deploy/alert-rules, as the rules of Grafana and of the Prometheus operator are.
`;

/** Address of the pages: an external label of Prometheus, as a rule file cannot read variables. Without it, the path in this package. */
const DOCS = '{{ or $externalLabels.spanscore_docs "docs" }}';

/** Returns deploy/prometheus/rules/alerts.yml. */
export function renderPrometheusAlerts(): string {
  return HEADER + stringify({ groups: alertGroups() }, { lineWidth: 0, singleQuote: true });
}

/** Group of a file of rules. */
export interface RuleGroup {
  readonly name: string;
  readonly rules: readonly Readonly<Record<string, unknown>>[];
}

/** Returns the groups of alerts. */
export function alertGroups(): RuleGroup[] {
  return [{ name: 'spanscore-alerts', rules: SPANSCORE_ALERTS.map(renderRule) }];
}

/** Returns the condition of an alert as one expression. */
function renderCondition({ query, fires }: SpanscoreAlert): string {
  return 'above' in fires ? `${query} > ${fires.above}` : `${query} < ${fires.below}`;
}

function renderRule(alert: SpanscoreAlert): Record<string, unknown> {
  const { name, severity, summary } = alert;
  return {
    alert: name,
    expr: renderCondition(alert),
    ...(alert.for === undefined ? {} : { for: alert.for }),
    labels: { severity },
    annotations: { summary, runbook_url: `${DOCS}/${nameSection(name)}` },
  };
}
