import { fillTemplate, type SeriesFacets } from '../domain/series-facets.ts';
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

/** Wait for the verdict on a judge, and the judge's certificate: both decide whether an alert is sent. */
export interface AlertJudges {
  /** Longest wait for the verdict who changed, milliseconds; null without anchors. */
  readonly waitMs: number | null;
  /** Returns true while labels of people certify the judge of a series. */
  isCertified(series: SeriesFacets): Promise<boolean>;
}

const NO_JUDGES: AlertJudges = { waitMs: null, isCertified: async () => false };

export function computeEventId({ incidentId, to }: Pick<IncidentChange, 'incidentId' | 'to'>): string {
  return computeAlertEventId(incidentId, to);
}

/**
 * Builds the alert event of a change, with the scores from the begin of the change to the begin of the incident. Every call
 * returns the same, and both events of the incident have the same scores.
 */
export async function buildAlertEvent(
  change: IncidentChange,
  store: Pick<MonitorStore, 'explain' | 'countLate' | 'hasAnchors'>,
  judges: AlertJudges = NO_JUDGES,
): Promise<AlertEvent> {
  const { rule, series, finding, startsAtMs } = change;
  const isAboutScores = ABOUT_SCORES.has(rule.detection.kind);
  const explanation = isAboutScores
    ? await store.explain(series, finding.changeBeganMs, startsAtMs)
    : NOTHING;
  const waits = isAboutScores && judges.waitMs !== null && (await store.hasAnchors(series));
  const culprit = { who: 'deciding', judge: null, decideByMs: startsAtMs + (judges.waitMs ?? 0) } as const;
  const isHeld = isAboutScores && rule.requires === 'certified' && !(await judges.isCertified(series));
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
    ...(waits ? { culprit } : {}),
    ...(isHeld ? { held: true } : {}),
  };
}

/** Builds the end of an incident as a change has it, with what was told at its beginning. */
export function buildEndOf(begin: AlertEvent, end: AlertEvent): AlertEvent {
  const { labels, culprit, held } = begin;
  return { ...end, labels, culprit, held };
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
