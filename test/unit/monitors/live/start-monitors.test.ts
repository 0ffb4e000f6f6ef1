import { StoreUnavailableError } from '../../../../src/domain/errors.ts';
import {
  startMonitors,
  MAX_REPORTED_SERIES,
  monitorReadings,
  loggedAlerts,
} from '../../../../src/monitors/live/start-monitors.ts';
import type { MonitorStatus } from '../../../../src/monitors/monitor-status.ts';
import type { MonitorStore } from '../../../../src/monitors/monitor-store.ts';
import type { MonitorGroup } from '../../../../src/monitors/rule.ts';
import { createLog } from '../../../../src/telemetry/log.ts';
import type { ReadingSource } from '../../../../src/telemetry/metrics.ts';
import { anAlert, resolvedEvent } from '../../../support/builders/an-alert.ts';
import { MemoryMonitors, A_SERIES } from '../../../support/fakes/memory-monitors.ts';
import { until } from '../../../support/until.ts';
import { expect, test, describe, it } from 'vitest';

const HOUR_MS = 3_600_000;
const GROUP: MonitorGroup = {
  name: 'quality',
  intervalMs: HOUR_MS,
  falseAlarmBudget: 1,
  rules: [
    {
      alert: 'Low',
      detection: { kind: 'floor', minimum: 0.5 },
      series: {},
      terms: { forMs: 0, keepFiringForMs: 0, noDataAfterMs: HOUR_MS, intervalMs: HOUR_MS },
      paused: false,
      labels: {},
      annotations: {},
    },
  ],
};

/** Starts monitors whose looks follow each other at once. */
function start(store: MemoryMonitors, readEpoch: () => Promise<number | undefined> = async () => 1) {
  const lines: string[] = [];
  const log = createLog('info', { destination: { write: (line) => void lines.push(line) } });
  const timers = { sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) };
  const duties = { join: () => undefined, readEpoch, leave: async () => undefined };
  let read: ReadingSource = () => [];
  const metrics = { observe: (source: ReadingSource) => ((read = source), () => undefined) };
  const part = startMonitors([GROUP], store, { duties, log, metrics, timers });
  return { lines, stop: () => part.stop(), readings: async () => [...(await read())] };
}

test('monitors are evaluated as their buckets close', async () => {
  const store = new MemoryMonitors();
  const { readings, stop } = start(store);
  await until(() => store.writes > 0);
  store.scored(1_000, [0.7]);
  store.clockMs = HOUR_MS + 60_000;
  await expect
    .poll(readings)
    .toContainEqual(expect.objectContaining({ name: 'spanscore.monitor.mean', value: 0.7 }));
  await stop();
});

test('monitors of another process are left to it', async () => {
  const store = new MemoryMonitors();
  let looks = 0;
  const { stop } = start(store, async () => {
    looks += 1;
    return undefined;
  });
  await until(() => looks > 3);
  await stop();
  expect(store.writes).toBe(0);
});

test('monitors wait for an unreachable store, and log it once', async () => {
  const store = new MemoryMonitors();
  let isAway = true;
  const clock = store.nowMs;
  store.nowMs = () => (isAway ? Promise.reject(new StoreUnavailableError('the store is away')) : clock());
  let looks = 0;
  const { stop, lines } = start(store, async () => {
    looks += 1;
    return 1;
  });
  await until(() => looks > 3);
  isAway = false;
  await until(() => store.writes > 0);
  await stop();
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('the store is away');
});

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

it('logs the beginning and the end of an incident once they are written', async () => {
  const lines: string[] = [];
  const written: string[] = [];
  const log = createLog('info', { destination: { write: (line) => void lines.push(line) } });
  const alerts: MonitorStore['alerts'] = {
    write: async (events) => void written.push(...events.map(({ status }) => status)),
    known: async () => new Set(),
    open: async () => [],
    incident: async () => [],
    acknowledged: async () => new Map(),
    judgeDrifts: async () => [],
  };

  await loggedAlerts(alerts, log).write([anAlert(), resolvedEvent(anAlert())]);

  expect(written).toEqual(['firing', 'resolved']);
  expect(lines[0]).toMatch(
    /WARN {2}alert fires alert=ScoreDrift scorer=faithfulness .*before=0\.91 after=0\.52 count=69/,
  );
  expect(lines[1]).toMatch(/INFO {2}alert ended alert=ScoreDrift .*minutes=300/);
});
