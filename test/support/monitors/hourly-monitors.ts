import type { Detection, MonitorGroup, MonitorRule } from '../../../src/monitors/rule.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export function monitorRule(detection: Detection, more: Partial<MonitorRule> = {}): MonitorRule {
  return {
    alert: 'Worse',
    detection,
    series: {},
    terms: { forMs: 0, keepFiringForMs: 0, noDataAfterMs: DAY_MS, intervalMs: HOUR_MS },
    paused: false,
    labels: { severity: 'page' },
    annotations: {},
    ...more,
  };
}

/** Builds a group of monitors with hourly buckets. */
export function monitorGroup(...rules: readonly MonitorRule[]): MonitorGroup {
  return { name: 'quality', intervalMs: HOUR_MS, falseAlarmBudget: 1, rules };
}

/** Drift detection whose reference is one day with thirty scores. */
export const QUICK_DRIFT: Detection = {
  kind: 'drift',
  tolerance: 0.02,
  reference: { days: 1, minScores: 30, minDays: 1 },
  direction: 'down',
};
