import { v5 as uuidv5 } from 'uuid';
import { canonicalJson } from '../domain/identity.ts';
import { buildSplit, type SeriesFacets } from '../domain/series-facets.ts';

/** The UUIDv5 namespace of incidents. Never to change: receivers tell repeats apart by these ids. */
const INCIDENT_NAMESPACE = '0d3c1f52-6f0a-5a8e-8d0e-4b7f1c2a9d63';

/** A trace that speaks for an alert: among the worst since the change began. */
export interface AlertTrace {
  readonly traceId: string;
  readonly scoreId: string;
  /** Directed: 0 worst, 1 best. */
  readonly score: number;
}

/** Contribution of a part of the traffic to a change: shares over all values of a dimension sum to 1. */
export interface AlertSegment {
  /** Dimension of the split. */
  readonly dimension: 'model' | 'agent_version' | 'service_version' | 'service' | 'agent';
  readonly value: string;
  /** Scores since the change began. */
  readonly count: number;
  /** Mean since the change began, directed. */
  readonly mean: number;
  readonly share: number;
}

/** An incident's beginning or end: what channels are told, once each. Times are Unix milliseconds. */
export interface AlertEvent {
  /** `computeAlertEventId`: receivers deduplicate by it. */
  readonly id: string;
  /** `computeIncidentId`: one for both events of an incident. */
  readonly incidentId: string;
  readonly status: 'firing' | 'resolved';
  readonly alert: string;
  readonly detector: string;
  readonly series: SeriesFacets;
  readonly startsAtMs: number;
  /** End of the incident; null while it fires. */
  readonly endsAtMs: number | null;
  /** Estimated begin of the change. */
  readonly changeBeganMs: number;
  /** Expected and observed since the change began; null where the detector has none. */
  readonly before: number | null;
  readonly after: number | null;
  /** Observations since the change began. */
  readonly count: number;
  readonly evidenceLog10: number | null;
  /** Of the rule; its identity in an Alertmanager is made of these and the series. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly worstTraces: readonly AlertTrace[];
  readonly segments: readonly AlertSegment[];
  /**
   * Versions of the agent's service and of the agent itself in most of the scores since the change began; '' where none is
   * known. Alerts of one deploy go out together.
   */
  readonly serviceVersion: string;
  readonly agentVersion: string;
}

/** One name for an incident, wherever and however often it is computed: the same alert, series and beginning. */
export function computeIncidentId(key: Pick<AlertEvent, 'alert' | 'series' | 'startsAtMs'>): string {
  const { tenant, scorer, fingerprint, agent, environment } = key.series;
  const facets = [tenant, scorer, fingerprint, agent, environment, ...buildSplit(key.series).flat()];
  const text = canonicalJson([key.alert, ...facets, key.startsAtMs]);
  return uuidv5(text, INCIDENT_NAMESPACE);
}

/** One name for an incident's beginning, another for its end. */
export function computeAlertEventId(incidentId: string, status: AlertEvent['status']): string {
  return uuidv5(status, incidentId);
}
