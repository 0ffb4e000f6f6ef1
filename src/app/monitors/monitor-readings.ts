import { SPLIT_LABELS, buildSplit } from '../../domain/series-facets.ts';
import type { MonitorStatus } from '../../monitors/monitor-status.ts';
import { isAlert } from '../../monitors/series.ts';
import type { MetricLabels, Reading } from '../../telemetry/metrics.ts';

/** Limit of series with their own metrics; series with an alert come first. */
export const MAX_REPORTED_SERIES = 1_000;

/** Number of fingerprint digits, enough to distinguish the judges of a scorer. */
const FINGERPRINT_DIGITS = 8;

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
