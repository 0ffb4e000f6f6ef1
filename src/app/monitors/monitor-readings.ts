import { SPLIT_LABELS, buildSplit } from '../../domain/series-facets.ts';
import type { MonitorStatus } from '../../monitors/monitor-status.ts';
import { isAlert } from '../../monitors/series.ts';
import type { MetricLabels, Reading } from '../../telemetry/metrics.ts';

/** Most series that are told one by one; those with an alert first. */
export const MAX_SERIES_TOLD = 1_000;

/** Enough of a fingerprint to tell the judges of a scorer apart. */
const FINGERPRINT_DIGITS = 8;

/** Mean, baseline, evidence and state of each series, and how many there are in each state. */
export function monitorReadings(statuses: readonly MonitorStatus[]): Reading[] {
  const told = [...statuses]
    .sort((a, b) => Number(isAlert(b.phase)) - Number(isAlert(a.phase)))
    .slice(0, MAX_SERIES_TOLD);
  const byPhase = Map.groupBy(statuses, ({ phase }) => phase);
  return [
    ...[...byPhase].map(
      ([state, { length }]) =>
        ({ name: 'spanscore.monitor.series', value: length, labels: { state } }) as const,
    ),
    ...told.flatMap(seriesReadings),
  ];
}

function seriesReadings(status: MonitorStatus): Reading[] {
  const { alert, series, phase, mean, baseline, evidenceLog10 } = status;
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
    { name: 'spanscore.monitor.evidence', value: evidenceLog10 },
  ] as const;
  return [
    { name: 'spanscore.monitor.state', value: 1, labels: { ...labels, state: phase } },
    ...gauges.flatMap(({ name, value }) => (value === null ? [] : [{ name, value, labels }])),
  ];
}
