import { METRICS, type MetricSpec, prometheusName } from '../../../src/telemetry/metric-catalogue.ts';

const INTRODUCTION = `# Metrics

\`GET /metrics\` of the API (\`api.endpoint\`, by default http://127.0.0.1:4320/metrics) tells them in Prometheus' text format. Where
\`auth.tokens\` are set it takes a token with the scope \`read\` and no tenant of its own, since they are totals over all tenants.

Counts are since the process began; with several processes on one store, add them up. A label has at most 100 values of at most
120 characters, further ones are told as \`other\`; no label holds anything that a sender of spans chose, but for the agents and environments
of monitored series, of which at most 1,000 are told one by one. Memory of the embedded engine is told on Linux only. \`GET /healthz\` answers 200 while the process lives; \`GET /readyz\` answers 200 or 503, and says of
each part (\`store\`, \`engine\`, \`receivers\`, \`kafka\`, \`forward\`) whether it is ready or why it is not.

A name in Prometheus is the OpenTelemetry name with \`_\` for each point, then the unit (\`_seconds\`, \`_bytes\`), then \`_total\` for a
counter.

| Prometheus | OpenTelemetry | kind | unit | labels | what |
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
