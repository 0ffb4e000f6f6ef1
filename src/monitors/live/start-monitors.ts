import { nameBudget } from '../../domain/money/budget.ts';
import { showUsd } from '../../domain/money/usd.ts';
import { SPLIT_LABELS, buildSplit } from '../../domain/series-facets.ts';
import type { Duties } from '../../ownership/duties.ts';
import { type StartedPart, repeatCheck, type Timers } from '../../process/parts.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics, MetricLabels, Reading } from '../../telemetry/metrics.ts';
import type { AlertBudget, AlertEvent } from '../alert-event.ts';
import { createEvaluator } from '../evaluator.ts';
import type { MonitorStatus } from '../monitor-status.ts';
import { MONITOR_DUTY, type MonitorStore } from '../monitor-store.ts';
import type { MonitorGroup } from '../rule.ts';
import { isAlert } from '../series.ts';
import { setImmediate as pause } from 'node:timers/promises';

/** Interval of the checks for a closed bucket, milliseconds. */
const LOOK_EVERY_MS = 5_000;

/** Limit of series with their own metrics; series with an alert come first. */
export const MAX_REPORTED_SERIES = 1_000;

/** Number of fingerprint digits, enough to distinguish the judges of a scorer. */
const FINGERPRINT_DIGITS = 8;

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

/** Returns mean, baseline, limit, evidence and state of each series, and the number of series in each state. */
export function monitorReadings(statuses: readonly MonitorStatus[]): Reading[] {
  const reported = [...statuses]
    .sort((a, b) => Number(isAlert(b.phase)) - Number(isAlert(a.phase)))
    .slice(0, MAX_REPORTED_SERIES);
  const byPhase = Map.groupBy(statuses, ({ phase }) => phase);
  return [
    ...[...byPhase].map(
      ([state, { length }]) =>
        ({ name: 'spanscore.monitor.series', value: length, labels: { state } }) as const,
    ),
    ...reported.flatMap(seriesReadings),
  ];
}

function seriesReadings(status: MonitorStatus): Reading[] {
  const { alert, series, phase, mean, baseline, limit, evidenceLog10 } = status;
  const labels: MetricLabels = {
    alert,
    tenant: series.tenant,
    scorer: series.scorer,
    fingerprint: series.fingerprint.slice(0, FINGERPRINT_DIGITS),
    agent: series.agent,
    environment: series.environment,
    ...Object.fromEntries(buildSplit(series).map(([facet, value]) => [SPLIT_LABELS[facet], value])),
  };
  const gauges = [
    { name: 'spanscore.monitor.mean', value: mean },
    { name: 'spanscore.monitor.baseline', value: baseline },
    { name: 'spanscore.monitor.limit', value: limit },
    { name: 'spanscore.monitor.evidence', value: evidenceLog10 },
  ] as const;
  return [
    { name: 'spanscore.monitor.state', value: 1, labels: { ...labels, state: phase } },
    ...gauges.flatMap(({ name, value }) => (value === null ? [] : [{ name, value, labels }])),
  ];
}

export interface MonitorLoopDeps {
  readonly store: MonitorStore;
  /**
   * Returns true when this process is the evaluator among the scorer processes on one store. Two evaluators for a moment do
   * the same work with the same result. Throws when the store does.
   */
  readonly isEvaluator: () => Promise<boolean>;
  readonly log: Log;
  readonly timers?: Timers;
}

/** Running evaluation of monitors. */
interface MonitorLoop {
  /** Stops within a bucket; the next start folds that bucket again. */
  stop(): Promise<void>;
  /** States of the rules; empty while another process is the evaluator. */
  statuses(): MonitorStatus[];
}

/** Starts to evaluate monitors when their buckets close. Retries failures from the stored state. */
export function startMonitorLoop(groups: readonly MonitorGroup[], deps: MonitorLoopDeps): MonitorLoop {
  const { store, isEvaluator, log, timers } = deps;
  const stopping = new AbortController();
  const evaluator = createEvaluator(groups, {
    store,
    async turn() {
      await pause();
      stopping.signal.throwIfAborted();
    },
    warn: (message, fields) => log.warn(message, fields),
  });

  async function look(): Promise<void> {
    if (await isEvaluator()) {
      await evaluator.advance();
    } else {
      evaluator.forget();
    }
  }

  const looks = repeatCheck(look, {
    everyMs: LOOK_EVERY_MS,
    failing: 'monitors wait',
    stopping,
    log,
    timers,
  });
  return {
    ...looks,
    statuses: () => evaluator.statuses(),
  };
}

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
