import { METRICS, prometheusName, type MetricSpec } from '../../../src/telemetry/metric-catalogue.ts';

/** Names of series under which Prometheus stores our metrics. */
const SERIES = new Set(
  Object.entries<MetricSpec>(METRICS).flatMap(([name, spec]) => {
    const told = prometheusName(name, spec);
    return spec.kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => told + end) : [told];
  }),
);

/** Returns the metrics of spanscore that PromQL expressions ask for, and those that nobody has: neither a process nor a rule. */
export function findAskedMetrics(
  expressions: readonly string[],
  recorded: ReadonlySet<string>,
): { asked: string[]; unknown: string[] } {
  const asked = expressions
    .flatMap((expression) => [
      ...expression.matchAll(/(?<![\w:])(?:job:\w+:\w+|(?:spanscore|process|nodejs)_\w+)/g),
    ])
    .map(([name]) => name);
  return { asked, unknown: asked.filter((name) => !SERIES.has(name) && !recorded.has(name)) };
}
