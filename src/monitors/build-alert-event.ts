import { fillTemplate } from '../domain/series-facets.ts';
import { type AlertEvent, buildLabels, computeAlertEventId } from './alert-event.ts';
import type { IncidentChange } from './group-watch.ts';
import type { Explanation, MonitorStore } from './monitor-store.ts';
import type { Detection } from './rule.ts';

const NOTHING: Explanation = { worstTraces: [], cause: null, serviceVersion: '', agentVersion: '' };

/** Detectors that look at the values of scores, not at their presence. */
const ABOUT_SCORES: ReadonlySet<Detection['kind']> = new Set([
  'drift',
  'floor',
  'rate',
  'distribution',
  'threshold',
]);

/** Computes the id of the event of a change. */
export function computeEventId({ incidentId, to }: Pick<IncidentChange, 'incidentId' | 'to'>): string {
  return computeAlertEventId(incidentId, to);
}

/**
 * Builds the alert event of a change, with the scores from the begin of the change to the begin of the incident. Every call
 * returns the same, and both events of the incident have the same scores.
 */
export async function buildAlertEvent(
  change: IncidentChange,
  store: Pick<MonitorStore, 'explain' | 'countLate'>,
): Promise<AlertEvent> {
  const { rule, series, finding, startsAtMs } = change;
  const explanation = ABOUT_SCORES.has(rule.detection.kind)
    ? await store.explain(series, finding.changeBeganMs, startsAtMs)
    : NOTHING;
  const lateScores = await store.countLate(series, finding.changeBeganMs, startsAtMs);
  const labels = buildLabels({
    labels: rule.labels,
    alert: rule.alert,
    detector: rule.detection.kind,
    series,
  });
  const value = finding.after === null ? '' : String(Number(finding.after.toFixed(3)));
  return {
    id: computeEventId(change),
    incidentId: change.incidentId,
    status: change.to,
    alert: rule.alert,
    detector: rule.detection.kind,
    series,
    startsAtMs,
    endsAtMs: change.to === 'resolved' ? change.atMs : null,
    changeBeganMs: finding.changeBeganMs,
    before: finding.before,
    after: finding.after,
    count: finding.count,
    lateScores,
    evidenceLog10: finding.evidenceLog10,
    labels: rule.labels,
    annotations: Object.fromEntries(
      Object.entries(rule.annotations).map(([name, text]) => [name, fillTemplate(text, { labels, value })]),
    ),
    ...explanation,
  };
}

/**
 * Builds the end of an incident that no rule watches any more. The end is after the beginning, so that a new incident that
 * begins at that end has another id.
 */
export function buildEndEvent(event: AlertEvent, atMs: number): AlertEvent {
  return {
    ...event,
    id: computeAlertEventId(event.incidentId, 'resolved'),
    status: 'resolved',
    endsAtMs: Math.max(atMs, event.startsAtMs + 1),
  };
}
