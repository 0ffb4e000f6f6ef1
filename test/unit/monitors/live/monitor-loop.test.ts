import { expect, test } from 'vitest';
import { startMonitors } from '../../../../src/monitors/live/start-monitors.ts';
import { StoreUnavailableError } from '../../../../src/domain/errors.ts';
import type { MonitorGroup } from '../../../../src/monitors/rule.ts';
import type { ReadingSource } from '../../../../src/telemetry/metrics.ts';
import { createLog } from '../../../../src/telemetry/log.ts';
import { MemoryMonitors } from '../../../support/fakes/memory-monitors.ts';
import { until } from '../../../support/until.ts';

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
