import { expect, test } from 'vitest';
import { startMonitorLoop, type MonitorLoopDeps } from '../../../../src/monitors/live/start-monitors.ts';
import { StoreUnavailableError } from '../../../../src/domain/errors.ts';
import type { MonitorGroup } from '../../../../src/monitors/rule.ts';
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

/** Starts a loop whose looks follow each other at once. */
function startLoop(store: MemoryMonitors, isEvaluator: MonitorLoopDeps['isEvaluator'] = async () => true) {
  const lines: string[] = [];
  const log = createLog('info', { destination: { write: (line) => void lines.push(line) } });
  const timers = { sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) };
  return { lines, loop: startMonitorLoop([GROUP], { store, isEvaluator, log, timers }) };
}

test('monitors are evaluated as their buckets close', async () => {
  const store = new MemoryMonitors();
  const { loop } = startLoop(store);
  await until(() => store.writes > 0);
  store.scored(1_000, [0.7]);
  store.clockMs = HOUR_MS + 60_000;
  // A stop may break off the next look, which leaves no statuses.
  let found = loop.statuses();
  await until(() => (found = loop.statuses()).length === 1);
  await loop.stop();
  expect(found).toMatchObject([{ alert: 'Low', phase: 'ok', mean: 0.7 }]);
});

test('monitors of another process are left to it', async () => {
  const store = new MemoryMonitors();
  let looks = 0;
  const { loop } = startLoop(store, async () => {
    looks += 1;
    return false;
  });
  await until(() => looks > 3);
  await loop.stop();
  expect(store.writes).toBe(0);
});

test('monitors wait for an unreachable store, and log it once', async () => {
  const store = new MemoryMonitors();
  let isAway = true;
  const clock = store.nowMs;
  store.nowMs = () => (isAway ? Promise.reject(new StoreUnavailableError('the store is away')) : clock());
  let looks = 0;
  const { loop, lines } = startLoop(store, async () => {
    looks += 1;
    return true;
  });
  await until(() => looks > 3);
  isAway = false;
  await until(() => store.writes > 0);
  await loop.stop();
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('the store is away');
});
