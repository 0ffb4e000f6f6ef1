import { afterEach, describe, expect, it } from 'vitest';
import { createMetrics, type Metrics } from '../../../src/telemetry/metrics.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

let metrics: Metrics;

function open(maxLabelValues?: number): Metrics {
  metrics = createMetrics({
    version: '1.2.3',
    log: silentLog,
    ...(maxLabelValues === undefined ? {} : { maxLabelValues }),
  });
  return metrics;
}

afterEach(() => metrics.stop());

/** The lines of one metric, without comments. */
async function listLines(name: string): Promise<string[]> {
  const lines = (await metrics.text()).split('\n');
  return lines.filter((line) => line.startsWith(name) && /^[{ ]/.test(line.slice(name.length)));
}

describe('metrics', () => {
  it('count with their labels, under the names that Prometheus uses', async () => {
    open();
    metrics.add('spanscore.receiver.requests', 1);
    metrics.add('spanscore.receiver.requests', 2);
    metrics.add('spanscore.receiver.requests.refused', 1, { reason: 'overloaded' });

    expect(await listLines('spanscore_receiver_requests_total')).toEqual([
      'spanscore_receiver_requests_total 3',
    ]);
    expect(await listLines('spanscore_receiver_requests_refused_total')).toEqual([
      'spanscore_receiver_requests_refused_total{reason="overloaded"} 1',
    ]);
  });

  it('put values into the buckets of their own unit', async () => {
    open();
    metrics.record('spanscore.insert.rows', 700, { table: 'otel_traces' });

    const buckets = await listLines('spanscore_insert_rows_bucket');
    expect(buckets).toContain('spanscore_insert_rows_bucket{table="otel_traces",le="500"} 0');
    expect(buckets).toContain('spanscore_insert_rows_bucket{table="otel_traces",le="1000"} 1');
  });

  it('read observed values at each scrape', async () => {
    open();
    let value = 1;
    metrics.observe(() => [{ name: 'spanscore.insert.running', value: value++ }]);

    expect(await listLines('spanscore_insert_running')).toEqual(['spanscore_insert_running 1']);
    expect(await listLines('spanscore_insert_running')).toEqual(['spanscore_insert_running 2']);
  });

  it('stop reporting values without an observer: a level becomes 0, a gauge unknown, a total keeps its value', async () => {
    open();
    const stop = metrics.observe(() => [
      { name: 'spanscore.kafka.lag', value: 9, labels: { partition: 't/0' } },
      { name: 'process.uptime', value: 9 },
      { name: 'spanscore.scoring.traces.spilled', value: 9 },
    ]);
    await metrics.text();
    stop();

    expect(await listLines('spanscore_kafka_lag')).toEqual(['spanscore_kafka_lag{partition="t/0"} 0']);
    expect(await listLines('process_uptime_seconds')).toEqual(['process_uptime_seconds NaN']);
    expect(await listLines('spanscore_scoring_traces_spilled_total')).toEqual([
      'spanscore_scoring_traces_spilled_total 9',
    ]);
  });

  it('fold further values of a label into one named other', async () => {
    open(2);
    for (const scorer of ['a', 'b', 'c', 'd', 'a']) {
      metrics.add('spanscore.scores.written', 1, { scorer });
    }

    expect(await listLines('spanscore_scores_written_total')).toEqual([
      'spanscore_scores_written_total{scorer="a"} 2',
      'spanscore_scores_written_total{scorer="b"} 1',
      'spanscore_scores_written_total{scorer="other"} 2',
    ]);
  });

  it('add up observed values of merged labels', async () => {
    open(1);
    metrics.observe(() =>
      ['t/0', 't/1', 't/2'].map((partition, index) => ({
        name: 'spanscore.kafka.lag' as const,
        value: index + 1,
        labels: { partition },
      })),
    );

    expect(await listLines('spanscore_kafka_lag')).toEqual([
      'spanscore_kafka_lag{partition="t/0"} 1',
      'spanscore_kafka_lag{partition="other"} 5',
    ]);
  });

  it('cut long values of a label', async () => {
    open();
    metrics.add('spanscore.scores.written', 1, { scorer: 'x'.repeat(5_000) });

    const [line = ''] = await listLines('spanscore_scores_written_total');
    expect(line).toBe(`spanscore_scores_written_total{scorer="${'x'.repeat(120)}"} 1`);
  });

  it('go without a source that fails', async () => {
    open();
    metrics.observe(() => {
      throw new Error('gone');
    });
    metrics.observe(async () => [{ name: 'spanscore.insert.pending', value: 7 }]);

    expect(await listLines('spanscore_insert_pending_bytes')).toEqual(['spanscore_insert_pending_bytes 7']);
  });

  it('name the program and its version', async () => {
    open();
    expect(await metrics.text()).toContain('target_info{service_name="spanscore",service_version="1.2.3"} 1');
  });
});
