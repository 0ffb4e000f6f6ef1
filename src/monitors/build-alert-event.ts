import { type AlertEvent, computeAlertEventId } from './alert-event.ts';
import type { IncidentChange } from './group-watch.ts';
import type { Explanation, MonitorStore } from './monitor-store.ts';
import type { Detection } from './rule.ts';

const NOTHING: Explanation = { worstTraces: [], segments: [], serviceVersion: '', agentVersion: '' };

/** Detectors that look at what scores are, not at whether there are any. */
const ABOUT_SCORES: ReadonlySet<Detection['kind']> = new Set([
  'drift',
  'floor',
  'rate',
  'distribution',
  'cusum',
  'threshold',
]);

/** The id of the event that tells a change. */
export function computeEventId({ incidentId, to }: Pick<IncidentChange, 'incidentId' | 'to'>): string {
  return computeAlertEventId(incidentId, to);
}

/**
 * Builds the alert event of a change, with the scores from the begin of the change to that of the incident. The result is the
 * same at every call, and for both events of the incident.
 */
export async function buildAlertEvent(
  change: IncidentChange,
  store: Pick<MonitorStore, 'explain'>,
): Promise<AlertEvent> {
  const { rule, series, finding, startsAtMs } = change;
  const explanation = ABOUT_SCORES.has(rule.detection.kind)
    ? await store.explain(series, finding.changeBeganMs, startsAtMs)
    : NOTHING;
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
    evidenceLog10: finding.evidenceLog10,
    labels: rule.labels,
    annotations: rule.annotations,
    ...explanation,
  };
}

/**
 * The end of an incident that no rule watches any more: after its beginning, so that what begins at that end is another one.
 */
export function buildEndEvent(event: AlertEvent, atMs: number): AlertEvent {
  return {
    ...event,
    id: computeAlertEventId(event.incidentId, 'resolved'),
    status: 'resolved',
    endsAtMs: Math.max(atMs, event.startsAtMs + 1),
  };
}
