import type { MonitorGroup } from '../../monitors/rule.ts';
import type { Ownership } from '../../ownership/ownership.ts';
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
 * @param options ownership: share of this process among the scorers
 */
export function startMonitors(
  groups: readonly MonitorGroup[],
  options: {
    readonly store: Store;
    readonly ownership: Ownership;
    readonly log: Log;
    readonly metrics: Metrics;
  },
): StartedPart {
  const { store, ownership, log, metrics } = options;
  const monitors = { ...store.monitors, alerts: loggedAlerts(store.monitors.alerts, log) };
  const loop = startMonitorLoop(groups, { store: monitors, ownership, log });
  metrics.observe(() => monitorReadings(loop.statuses()));
  return { name: 'monitors', stage: 'work', stop: () => loop.stop() };
}
