import { METRICS, type MetricSpec } from '../../../src/telemetry/metric-catalogue.ts';

const INTRODUCTION = `# Metrics

\`GET /metrics\` of the API (\`api.endpoint\`, by default http://127.0.0.1:4320/metrics) tells them in Prometheus' text format. Where
\`auth.tokens\` are set it takes a token with the scope \`read\` and no tenant of its own, since they are totals over all tenants.

Counts are since the process began; with several processes on one store, add them up. A label has at most 100 values of at most
120 characters, further ones are told as \`other\`; no label holds anything that a sender of spans chose, but for the agents and environments
of monitored series, of which at most 1,000 are told one by one. Memory of the embedded engine is told on Linux only. \`GET /healthz\` answers 200 while the process lives; \`GET /readyz\` answers 200 or 503, and says of
each part (\`store\`, \`engine\`, \`receivers\`, \`kafka\`, \`forward\`) whether it is ready or why it is not.

| Prometheus | OpenTelemetry | kind | unit | labels | what |
| --- | --- | --- | --- | --- | --- |
`;

/** docs/metrics.md, as it must be. */
export function metricsPage(): string {
  const rows = Object.entries<MetricSpec>(METRICS).map(([name, { kind, unit, labels, description }]) => {
    const cells = [
      `\`${prometheusName(name, kind)}\``,
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

/** As the exporter names it. */
export function prometheusName(name: string, kind: MetricSpec['kind']): string {
  const plain = name.replaceAll('.', '_');
  return kind === 'counter' || kind === 'total' ? `${plain}_total` : plain;
}
