import { nameBudget } from '../../domain/money/budget.ts';
import { showUsd } from '../../domain/money/usd.ts';
import type { AlertBudget, AlertEvent } from '../../monitors/alert-event.ts';
import type { MonitorStore } from '../../monitors/monitor-store.ts';
import type { Log } from '../../telemetry/log.ts';

/** Wraps the alerts of a store and logs each beginning and end of an incident that is written. */
export function loggedAlerts<Alerts extends Pick<MonitorStore['alerts'], 'write'>>(
  alerts: Alerts,
  log: Log,
): Alerts {
  return {
    ...alerts,
    async write(events) {
      await alerts.write(events);
      events.forEach((event) => logEvent(event, log));
    },
  };
}

function logEvent({ series, budget, ...event }: AlertEvent, log: Log): void {
  const { alert, incidentId, startsAtMs, endsAtMs, before, after, count } = event;
  const { scorer, agent, environment } = series;
  const subject =
    budget === undefined ? { scorer, agent, environment } : { budget: nameBudget(budget.scope) };
  const numbers = budget === undefined ? { before, after, count } : describeSpending(budget);
  const incident = { alert, ...subject, incidentId };
  if (endsAtMs === null) {
    log.warn('alert fires', { ...incident, ...numbers });
  } else {
    log.info('alert ended', { ...incident, minutes: Math.round((endsAtMs - startsAtMs) / 60_000) });
  }
}

function describeSpending({ period, percent, spentUsd, capUsd }: AlertBudget): Record<string, unknown> {
  return { period, percent, spentUsd: showUsd(spentUsd), capUsd: showUsd(capUsd) };
}
