import { nameBudget } from '../../domain/money/budget.ts';
import { showUsd } from '../../domain/money/usd.ts';
import { SPLIT_LABELS, buildSplit } from '../../domain/series-facets.ts';
import { startRepeatedDuty, type DutyDeps } from '../../process/parts.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics, MetricLabels, Reading } from '../../telemetry/metrics.ts';
import type { AlertBudget, AlertEvent } from '../alert-event.ts';
import { createEvaluator, type EvaluatorDeps } from '../evaluator.ts';
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
 * Starts monitors in a scorer process, which are evaluated when their buckets close. Without any configured monitor, it only ends open
 * incidents of earlier monitors, so that their receivers get the end. After a stop, the next start folds the last bucket again. Two
 * evaluators for a moment do the same work with the same result.
 */
export function startMonitors(
  first: readonly MonitorGroup[],
  store: MonitorStore,
  {
    metrics,
    judges,
    ...deps
  }: DutyDeps & Pick<EvaluatorDeps, 'judges'> & { readonly metrics: Pick<Metrics, 'observe'> },
) {
  let stopping: AbortSignal | undefined;
  const create = (groups: readonly MonitorGroup[]) =>
    createEvaluator(groups, {
      store,
      judges,
      async turn() {
        await pause();
        stopping?.throwIfAborted();
      },
      warn: (message, fields) => deps.log.warn(message, fields),
    });
  let evaluator = create(first);
  metrics.observe(() => monitorReadings(evaluator.statuses()));
  const work = async (signal: AbortSignal) => {
    stopping = signal;
    await evaluator.advance();
  };
  const onIdle = () => evaluator.forget();
  const duty = MONITOR_DUTY;
  return {
    ...startRepeatedDuty({ duty, everyMs: LOOK_EVERY_MS, failing: 'monitors wait', work, onIdle }, deps),
    /** Evaluates other groups from the next look on. Their states are in the store. */
    setGroups(groups: readonly MonitorGroup[]): void {
      evaluator = create(groups);
    },
  };
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

/** Wraps the alerts of a store and logs each beginning and end of an incident that is written. */
export function loggedAlerts<Alerts extends Pick<MonitorStore['alerts'], 'write'>>(
  alerts: Alerts,
  log: Log,
): Alerts {
  return {
    ...alerts,
    async write(events) {
      await alerts.write(events);
      events.forEach((event) => logAlert(event, log));
    },
  };
}

export function logAlert({ series, budget, issue, ...event }: AlertEvent, log: Log): void {
  const { alert, incidentId, startsAtMs, endsAtMs, before, after, count } = event;
  const { scorer, agent, environment } = series;
  const ofIssue = issue && { issue: issue.id, agent };
  const subject =
    budget === undefined ? (ofIssue ?? { scorer, agent, environment }) : { budget: nameBudget(budget.scope) };
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
