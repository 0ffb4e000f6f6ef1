import { describe, expect, test } from 'vitest';
import { MAX_REPORTED_SERIES, monitorReadings } from '../../../../src/monitors/live/start-monitors.ts';
import type { MonitorStatus } from '../../../../src/monitors/monitor-status.ts';
import { A_SERIES } from '../../../support/fakes/memory-monitors.ts';

function buildStatus(more: Partial<MonitorStatus> = {}): MonitorStatus {
  return {
    ruleKey: 'k',
    group: 'quality',
    alert: 'Worse',
    detector: 'drift',
    series: A_SERIES,
    phase: 'ok',
    sinceMs: 0,
    incidentId: null,
    finding: null,
    lacks: null,
    mean: 0.8,
    baseline: 0.85,
    limit: null,
    evidenceLog10: -0.5,
    scores: 10,
    bucketMs: 0,
    ...more,
  };
}

describe('readings of monitors', () => {
  test('are mean, baseline, evidence and state of a series', () => {
    const labels = {
      alert: 'Worse',
      tenant: '',
      scorer: 'grounding',
      fingerprint: 'f1',
      agent: 'weather',
      environment: 'production',
    };
    expect(monitorReadings([buildStatus()])).toEqual([
      { name: 'spanscore.monitor.series', value: 1, labels: { state: 'ok' } },
      { name: 'spanscore.monitor.state', value: 1, labels: { ...labels, state: 'ok' } },
      { name: 'spanscore.monitor.mean', value: 0.8, labels },
      { name: 'spanscore.monitor.baseline', value: 0.85, labels },
      { name: 'spanscore.monitor.evidence', value: -0.5, labels },
    ]);
  });

  test('name the part of a series that is split', () => {
    const series = { ...A_SERIES, model: 'gpt-5', agentVersion: '2' };
    for (const { name, labels } of monitorReadings([buildStatus({ series })]).slice(1)) {
      expect([name, labels]).toEqual([name, expect.objectContaining({ model: 'gpt-5', agent_version: '2' })]);
    }
  });

  test('omit the values that a detector does not have', () => {
    const readings = monitorReadings([buildStatus({ mean: null, baseline: null, evidenceLog10: null })]);
    expect(readings.map(({ name }) => name)).toEqual(['spanscore.monitor.series', 'spanscore.monitor.state']);
  });

  test('count all series, and tell those with an alert first when they are too many', () => {
    const calm = Array.from({ length: MAX_REPORTED_SERIES }, (_, index) =>
      buildStatus({ series: { ...A_SERIES, agent: `agent-${index}` } }),
    );
    const readings = monitorReadings([...calm, buildStatus({ phase: 'firing' })]);
    expect(readings.slice(0, 2)).toEqual([
      { name: 'spanscore.monitor.series', value: MAX_REPORTED_SERIES, labels: { state: 'ok' } },
      { name: 'spanscore.monitor.series', value: 1, labels: { state: 'firing' } },
    ]);
    const states = readings.filter(({ name }) => name === 'spanscore.monitor.state');
    expect(states).toHaveLength(MAX_REPORTED_SERIES);
    expect(states[0]?.labels).toMatchObject({ state: 'firing' });
  });
});
