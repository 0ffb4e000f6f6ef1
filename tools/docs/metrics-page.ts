import { METRICS, type MetricSpec, prometheusName } from '../../src/telemetry/metric-catalogue.ts';

const INTRODUCTION = `# Metrics

\`GET /metrics\` of the API (\`api.endpoint\`, by default http://127.0.0.1:4320/metrics) returns the metrics in Prometheus' text format. If
\`auth.tokens\` are set, the request needs a token with the scope \`read\` and without a tenant, because the metrics are totals over all
tenants.

- Counters start at 0 with the process. For several processes on one store, add them up. \`spanscore_budget\` is read from the store, so take
  its maximum.
- A label has at most 100 values of at most 120 characters. Further values are counted as \`other\`.
- No label has a value that a sender of spans chose, except the agents and environments of monitored series. At most 1,000 of these series
  have metrics.
- The memory of the embedded engine is measured on Linux only.
- A name in Prometheus is the OpenTelemetry name with \`_\` for each point, then the unit (\`_seconds\`, \`_bytes\`), then \`_total\` for a
  counter.

\`GET /healthz\` answers 200 while the process lives. \`GET /readyz\` answers 200 or 503. For each part (\`store\`, \`engine\`, \`receivers\`,
\`kafka\`) it says whether the part is ready, or why it is not. A part that does not answer within 2 s is not ready. Until the
process has started, \`start\` says what it waits for in its roles: the store, the scorers, or the receivers.

| Prometheus | OpenTelemetry | kind | unit | labels | meaning |
| --- | --- | --- | --- | --- | --- |
`;

/** Returns the expected text of docs/metrics.md. */
export function metricsPage(): string {
  const rows = Object.entries<MetricSpec>(METRICS).map(([name, spec]) => {
    const { kind, unit, labels, description } = spec;
    const cells = [
      `\`${prometheusName(name, spec)}\``,
      `\`${name}\``,
      kind === 'total' ? 'counter' : kind === 'level' ? 'gauge' : kind,
      `\`${unit}\``,
      labels.map((label) => `\`${label.replace('.', '_')}\``).join(', '),
      description,
    ];
    return `| ${cells.join(' | ')} |\n`;
  });
  return INTRODUCTION + rows.join('');
}
