import { expect, it } from 'vitest';
import { silentLog } from '../../src/telemetry/log.ts';
import {
  METRICS,
  type CounterName,
  type HistogramName,
  type MetricSpec,
  type ObservedName,
  prometheusName,
} from '../../src/telemetry/metric-catalogue.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { metricsPage } from '../../tools/docs/metrics-page.ts';

const ALL = Object.entries<MetricSpec>(METRICS);

it('docs/metrics.md lists every metric as it is (after a change: vitest run --project contract metrics-page -u)', async () => {
  await expect(metricsPage()).toMatchFileSnapshot('../../docs/metrics.md');
});

it('every metric has the name, kind and labels of the page', async () => {
  const metrics = createMetrics({ version: '1', log: silentLog });
  const labelled = (spec: MetricSpec) => Object.fromEntries(spec.labels.map((label) => [label, 'x']));
  for (const [name, spec] of ALL) {
    if (spec.kind === 'counter') {
      metrics.add(name as CounterName, 1, labelled(spec));
    } else if (spec.kind === 'histogram') {
      metrics.record(name as HistogramName, 1, labelled(spec));
    }
  }
  const observed = ALL.filter(([, { kind }]) => kind !== 'counter' && kind !== 'histogram');
  metrics.observe(() =>
    observed.map(([name, spec]) => ({ name: name as ObservedName, value: 1, labels: labelled(spec) })),
  );
  const lines = (await metrics.text()).split('\n');
  await metrics.stop();
  for (const [name, { kind, labels, unit }] of ALL) {
    const told = prometheusName(name, { kind, unit });
    const type = {
      counter: 'counter',
      total: 'counter',
      histogram: 'histogram',
      level: 'gauge',
      gauge: 'gauge',
    }[kind];
    expect(lines).toContain(`# TYPE ${told} ${type}`);
    const pairs = labels.map((label) => `${label.replace('.', '_')}="x"`).join(',');
    const series = kind === 'histogram' ? `${told}_count` : told;
    expect(lines).toContain(`${series}${pairs === '' ? '' : `{${pairs}}`} 1`);
  }
});

it.each(ALL)('%s keeps the rules of names', (name, { unit, bounds = [] }) => {
  expect(name).toMatch(/^(spanscore|process|nodejs)(\.[a-z0-9]+(_[a-z0-9]+)*)+$/);
  expect(name).not.toMatch(/[._](total|seconds|bytes|ms|milliseconds|kib|mib)(\.|$)/);
  expect(unit).toMatch(/^(s|By|\{[A-Za-z]+\})$/);
  expect([...bounds].sort((a, b) => a - b)).toEqual([...bounds]);
});

it.each(ALL)('%s has its unit and its kind in its Prometheus name', (name, spec) => {
  const told = prometheusName(name, spec);
  expect(told).toMatch(/^(spanscore|process|nodejs)(_[a-z0-9]+)+$/);
  expect(/_seconds(_total)?$/.test(told)).toBe(spec.unit === 's');
  expect(/_bytes(_total)?$/.test(told)).toBe(spec.unit === 'By');
  expect(told.endsWith('_total')).toBe(spec.kind === 'counter' || spec.kind === 'total');
});

it('no two metrics have the same Prometheus name', () => {
  const names = ALL.map(([name, spec]) => prometheusName(name, spec));
  expect(new Set(names).size).toBe(ALL.length);
});
