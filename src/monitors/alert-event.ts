import { v5 as uuidv5 } from 'uuid';
import { canonicalJson } from '../domain/identity.ts';
import type { BudgetCap } from '../domain/money/budget.ts';
import type { AlertCause } from './attribution/explain-change.ts';
import type { Culprit, JudgeNumbers } from './statistics/judge-drift.ts';
import { type ALERT_LABELS, buildSplit, type SeriesFacets, SPLIT_LABELS } from '../domain/series-facets.ts';

/** UUIDv5 namespace of incidents. It must never change: receivers recognise repeats by these ids. */
const INCIDENT_NAMESPACE = '0d3c1f52-6f0a-5a8e-8d0e-4b7f1c2a9d63';

/** A trace as evidence of an alert: one of the worst since the change began. */
export interface AlertTrace {
  readonly traceId: string;
  readonly scoreId: string;
  /** Directed score: 0 worst, 1 best. */
  readonly score: number;
}

export const BUDGET_ALERT = 'BudgetSpent';

/** Name of the alerts about judges that judge otherwise than before, and of what detects it. */
export const JUDGE_ALERT = 'JudgeDrift';
export const JUDGE_DETECTOR = 'judge';

/** Who changed: the agent, or the judge of its scores. */
export interface AlertCulprit {
  /** `deciding`: the anchors of the judge are asked; the alert waits until `decideByMs`. */
  readonly who: Culprit | 'deciding';
  /** Numbers of the judge on its anchors since the change; null without any. */
  readonly judge: JudgeNumbers | null;
  /** Unix milliseconds. */
  readonly decideByMs: number;
}

export interface AlertBudget extends BudgetCap {
  /** Part of the cap that is spent at least; 100: the rest pays for no further call. */
  readonly percent: number;
  /** Money that was spent at the beginning of the incident, USD. */
  readonly spentUsd: number;
  /** Time at which the cap is full again, Unix milliseconds. */
  readonly renewsAtMs: number;
}

/** Names of the alerts about issues, by the state of the issue. */
export const ISSUE_ALERTS = {
  new: 'IssueNew',
  escalating: 'IssueEscalating',
  regressed: 'IssueRegressed',
} as const;

/** Issue that an alert is about. Its title has no words of a run, because alerts outlive a deletion. */
export interface AlertIssue {
  readonly id: string;
  readonly title: string;
  readonly state: keyof typeof ISSUE_ALERTS;
}

/** Beginning or end of an incident; every channel gets each of them once. Times are Unix milliseconds. */
export interface AlertEvent {
  /** Result of `computeAlertEventId`; receivers deduplicate by it. */
  readonly id: string;
  /** Result of `computeIncidentId`; both events of an incident have the same. */
  readonly incidentId: string;
  readonly status: 'firing' | 'resolved';
  readonly alert: string;
  readonly detector: string;
  readonly series: SeriesFacets;
  readonly startsAtMs: number;
  /** End of the incident; null while it is open. */
  readonly endsAtMs: number | null;
  /** Estimated begin of the change. */
  readonly changeBeganMs: number;
  /** Expected and observed value since the change began; null where the detector has none. */
  readonly before: number | null;
  readonly after: number | null;
  /** Mean of the directed scores before the change, also where `before` is a limit; null without any. Absent in older events. */
  readonly meanBefore?: number | null | undefined;
  /** Observations since the change began. */
  readonly count: number;
  /** Scores since the change began that came too late to be observed. */
  readonly lateScores: number;
  readonly evidenceLog10: number | null;
  /** Labels of the rule. With the series they identify the alert in an Alertmanager. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly worstTraces: readonly AlertTrace[];
  /** Reason of the change; null or absent where the alert is not about scores. */
  readonly cause?: AlertCause | null | undefined;
  /** Absent where no judge has anchors. */
  readonly culprit?: AlertCulprit | undefined;
  /** True: the page alone shows the alert, because the judge changed, or is not certified as the rule requires. */
  readonly held?: boolean | undefined;
  /**
   * Version of the agent's service, and of the agent itself, in most of the scores since the change began; '' when unknown.
   * Alerts of one deploy share a message.
   */
  readonly serviceVersion: string;
  readonly agentVersion: string;
  /** Present in alerts about budgets. They are of no series: of its facets they have the tenant at most. */
  readonly budget?: AlertBudget | undefined;
  /** Present in alerts about issues: shares of runs before and after, of an agent of a tenant. */
  readonly issue?: AlertIssue | undefined;
}

/** Computes the id of an incident. The same alert, series and beginning always give the same id. */
export function computeIncidentId(key: Pick<AlertEvent, 'alert' | 'series' | 'startsAtMs'>): string {
  const { tenant, scorer, fingerprint, agent, environment } = key.series;
  const facets = [tenant, scorer, fingerprint, agent, environment, ...buildSplit(key.series).flat()];
  const text = canonicalJson([key.alert, ...facets, key.startsAtMs]);
  return uuidv5(text, INCIDENT_NAMESPACE);
}

/** Computes the id of the incident of a cap in one period. The same cap, period and percentage always give the same id. */
export function computeBudgetIncidentId({
  scope,
  period,
  capUsd,
  percent,
  renewsAtMs,
}: Omit<AlertBudget, 'spentUsd'>): string {
  const text = canonicalJson([BUDGET_ALERT, scope.kind, scope.name, period, capUsd, percent, renewsAtMs]);
  return uuidv5(text, INCIDENT_NAMESPACE);
}

/** Computes the id of the incident of an issue in one state. The same issue, state and beginning always give the same id. */
export function computeIssueIncidentId(
  tenant: string,
  { id, state }: Omit<AlertIssue, 'title'>,
  startsAtMs: number,
): string {
  return uuidv5(canonicalJson([ISSUE_ALERTS[state], tenant, id, startsAtMs]), INCIDENT_NAMESPACE);
}

/** Computes the id of the beginning or of the end of an incident. */
export function computeAlertEventId(incidentId: string, status: AlertEvent['status']): string {
  return uuidv5(status, incidentId);
}

export type Labels = Readonly<Record<string, string>>;

/**
 * Builds the labels that identify an alert for an Alertmanager and similar receivers. They stay the same while the alert lasts:
 * no values, no times, and a version only where the series is split by version. Empty labels are left out, as in an
 * Alertmanager.
 */
export function buildLabels({
  labels,
  alert,
  detector,
  series,
}: Pick<AlertEvent, 'labels' | 'alert' | 'detector' | 'series'>): Labels {
  const { tenant, scorer, fingerprint, agent, environment } = series;
  const own: Partial<Record<(typeof ALERT_LABELS)[number], string>> = {
    ...Object.fromEntries(buildSplit(series).map(([facet, value]) => [SPLIT_LABELS[facet], value])),
    alertname: alert,
    detector,
    scorer,
    scorer_fingerprint: fingerprint,
    agent,
    environment,
    tenant,
  };
  return withoutEmptyLabels({ ...labels, ...own });
}

/** Sorts labels or annotations by name, without the empty ones. */
export function withoutEmptyLabels(labels: Labels): Labels {
  return Object.fromEntries(
    Object.entries(labels)
      .filter(([, value]) => value !== '')
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** Side of the limit on which an alert fires, for each detector that compares with a limit. */
export const LIMIT_SIDES: ReadonlyMap<string, 'below' | 'above'> = new Map<string, 'below' | 'above'>([
  ['floor', 'below'],
  ['threshold', 'below'],
  ['coverage', 'below'],
  ['rate', 'above'],
  ['scorer_errors', 'above'],
]);
