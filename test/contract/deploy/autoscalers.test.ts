import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { MAX_QUEUED } from '../../../src/scoring/live/queue.ts';
import { findAskedMetrics } from '../../support/documents/asked-metrics.ts';
import { hasProgram } from '../../support/processes/installed-program.ts';

const folder = new URL('../../../deploy/kubernetes/', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, folder), 'utf8');

interface Metric {
  readonly external?: {
    readonly metric: { readonly name: string };
    readonly target: { readonly averageValue: string };
  };
}

interface AdapterRule {
  readonly seriesQuery: string;
  readonly resources: unknown;
  readonly name: { readonly as: string };
  readonly metricsQuery: string;
}

const adapter = parse(read('prometheus-adapter-rules.yaml')) as { rules: { external: AdapterRule[] } };
const rules = adapter.rules.external;

function listAskedMetrics(): Metric[] {
  const scorer = parseAllDocuments(read('base/scorer.yaml')).map(
    (document) => document.toJS() as { kind: string; spec: { metrics?: Metric[] } },
  );
  const patch = parse(read('overlays/kafka/scale-on-lag.yaml')) as { path: string; value: Metric[] }[];
  return [
    ...scorer.flatMap(({ spec }) => spec.metrics ?? []),
    ...patch.flatMap(({ path, value }) => (path === '/spec/metrics' ? value : [])),
  ];
}

const thresholds = listAskedMetrics().flatMap(({ external }) =>
  external === undefined ? [] : [[external.metric.name, Number(external.target.averageValue)] as const],
);

/** Largest value of each metric that one process can report. */
const LARGEST: Readonly<Record<string, number>> = {
  spanscore_traces_queued: MAX_QUEUED,
  spanscore_traces_waiting_for_judge: MAX_QUEUED,
  spanscore_kafka_lag: Infinity,
};

describe('the external metrics of the autoscalers', () => {
  it('come from metrics that a process has', () => {
    const { asked, unknown } = findAskedMetrics(
      rules.flatMap(({ seriesQuery, metricsQuery }) => [seriesQuery, metricsQuery]),
      new Set(),
    );

    expect(asked.length).toBe(2 * rules.length);
    expect(unknown).toEqual([]);
  });

  it('are those that the adapter serves', () => {
    expect(thresholds.map(([name]) => name)).toEqual(rules.map(({ name }) => name.as));
  });

  it.each(thresholds)('%s can exceed its threshold, %i', (name, threshold) => {
    expect(threshold).toBeGreaterThan(0);
    expect(threshold).toBeLessThan(LARGEST[name] ?? 0);
  });

  it.each(rules)('$name.as is of the namespace of its autoscaler', ({ seriesQuery, resources }) => {
    expect(seriesQuery).toContain('namespace!=""');
    expect(resources).toEqual({ overrides: { namespace: { resource: 'namespace' } } });
  });
});

const hasPromtool = hasProgram('promtool', 'the metrics of the autoscalers', 'apt-get install prometheus');

describe.skipIf(!hasPromtool)('promtool', () => {
  let scratch: string;

  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'spanscore-adapter-'));
  });

  afterEach(() => {
    rmSync(scratch, { recursive: true });
  });

  it('counts the work that waits in the namespace of the autoscaler, and each partition once', () => {
    const recorded = rules.map(({ name, metricsQuery }) => ({
      record: `${name.as}:asked`,
      expr: metricsQuery.replace('<<.LabelMatchers>>', 'namespace="spanscore"'),
    }));
    const traces = (labels: string, value: number) => ({
      series: `spanscore_scoring_traces{${labels}}`,
      values: `${value}x3`,
    });
    const lag = (labels: string, value: number) => ({
      series: `spanscore_kafka_lag{${labels}}`,
      values: `${value}x3`,
    });
    const test = {
      interval: '1m',
      input_series: [
        traces('namespace="spanscore", pod="a", state="queued"', 30),
        traces('namespace="spanscore", pod="b", state="queued"', 12),
        traces('namespace="spanscore", pod="b", state="waiting_for_judge"', 7),
        traces('namespace="spanscore", pod="b", state="running"', 100),
        traces('namespace="staging", pod="a", state="queued"', 40_000),
        traces('namespace="staging", pod="a", state="waiting_for_judge"', 40_000),
        lag('namespace="spanscore", pod="a", partition="spans:0"', 500),
        lag('namespace="spanscore", pod="b", partition="spans:0"', 400),
        lag('namespace="spanscore", pod="b", partition="spans:1"', 5),
        lag('namespace="staging", pod="a", partition="spans:0"', 90_000),
      ],
      promql_expr_test: [
        ['spanscore_traces_queued', 42],
        ['spanscore_traces_waiting_for_judge', 7],
        ['spanscore_kafka_lag', 505],
      ].map(([name, value]) => ({
        expr: `${name}:asked`,
        eval_time: '2m',
        exp_samples: [{ labels: `${name}:asked`, value }],
      })),
    };
    // Every JSON document is also a YAML document.
    const file = join(scratch, 'rules.yml');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'adapter', rules: recorded }] }));
    const tests = join(scratch, 'tests.yml');
    writeFileSync(tests, JSON.stringify({ rule_files: [file], evaluation_interval: '1m', tests: [test] }));

    expect(execFileSync('promtool', ['test', 'rules', tests], { encoding: 'utf8' })).toContain('SUCCESS');
  });
});
