import type { AlertEvent } from '../../monitors/alert-event.ts';
import type { MonitorStore } from '../../monitors/monitor-store.ts';
import type { Log } from '../../telemetry/log.ts';

/** Wraps the alerts of a store and logs each beginning and end of an incident that is written. */
export function loggedAlerts(alerts: MonitorStore['alerts'], log: Log): MonitorStore['alerts'] {
  return {
    ...alerts,
    async write(events) {
      await alerts.write(events);
      events.forEach((event) => logEvent(event, log));
    },
  };
}

function logEvent({ series, ...event }: AlertEvent, log: Log): void {
  const { alert, incidentId, startsAtMs, endsAtMs, before, after, count } = event;
  const { scorer, agent, environment } = series;
  const incident = { alert, scorer, agent, environment, incidentId };
  if (endsAtMs === null) {
    log.warn('alert fires', { ...incident, before, after, count });
  } else {
    log.info('alert ended', { ...incident, minutes: Math.round((endsAtMs - startsAtMs) / 60_000) });
  }
}
