import { MONITOR_DUTY } from '../../monitors/monitor-store.ts';
import type { MonitorGroup } from '../../monitors/rule.ts';
import type { Duties } from '../../ownership/duties.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { loggedAlerts } from './logged-alerts.ts';
import { startMonitorLoop } from './monitor-loop.ts';
import { monitorReadings } from './monitor-readings.ts';
import type { StartedPart } from '../stop-parts.ts';
import type { Store } from '../../store/contracts/store.ts';

/**
 * Starts monitors in a scorer process. Without any configured monitor, it only ends open incidents of earlier monitors, so
 * that their receivers get the end.
 */
export function startMonitors(
  groups: readonly MonitorGroup[],
  options: {
    readonly store: Store;
    readonly duties: Duties;
    readonly log: Log;
    readonly metrics: Metrics;
  },
): StartedPart {
  const { store, duties, log, metrics } = options;
  duties.join([MONITOR_DUTY]);
  const isEvaluator = async () => (await duties.readEpoch(MONITOR_DUTY)) !== undefined;
  const monitors = { ...store.monitors, alerts: loggedAlerts(store.monitors.alerts, log) };
  const loop = startMonitorLoop(groups, { store: monitors, isEvaluator, log });
  metrics.observe(() => monitorReadings(loop.statuses()));
  const stop = async () => {
    await loop.stop();
    await duties.leave(MONITOR_DUTY);
  };
  return { name: 'monitors', stage: 'work', stop };
}
