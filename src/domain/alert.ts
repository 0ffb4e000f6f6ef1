import { v5 as uuidv5 } from 'uuid';
import { canonicalJson } from './identity.ts';

/** The UUIDv5 namespace of incidents. Never to change: receivers tell repeats apart by these ids. */
const INCIDENT_NAMESPACE = '0d3c1f52-6f0a-5a8e-8d0e-4b7f1c2a9d63';

/** Facets that rules may split series by beyond scorer, agent and environment, in the order of writing. */
export const SPLIT_FACETS = ['model', 'agentVersion', 'serviceVersion', 'service'] as const;

export type SplitFacet = (typeof SPLIT_FACETS)[number];

/** Label name of each split facet. */
export const SPLIT_LABELS = {
  model: 'model',
  agentVersion: 'agent_version',
  serviceVersion: 'service_version',
  service: 'service',
} as const satisfies Record<SplitFacet, string>;

/**
 * Identity of a series of scores. A change of scorer or judge (`fingerprint`) starts a new series. A split facet is present
 * where a rule asks for it, also with the value ''.
 */
export interface SeriesFacets extends Readonly<Partial<Record<SplitFacet, string>>> {
  readonly tenant: string;
  readonly scorer: string;
  readonly fingerprint: string;
  readonly agent: string;
  readonly environment: string;
}

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

/** The facets that a series is split by, with their values. */
export function buildSplit(series: SeriesFacets): (readonly [facet: SplitFacet, value: string])[] {
  return SPLIT_FACETS.flatMap((facet) => {
    const value = series[facet];
    return value === undefined ? [] : [[facet, value] as const];
  });
}

/** The series that a part of the traffic belongs to where series are split so. */
export function seriesSplitBy(part: SeriesFacets, by: readonly SplitFacet[]): SeriesFacets {
  const { tenant, scorer, fingerprint, agent, environment } = part;
  const further = buildSplit(part).filter(([facet]) => by.includes(facet));
  return { tenant, scorer, fingerprint, agent, environment, ...Object.fromEntries(further) };
}

/** The split of a series for people: `agent version 2`. */
export function splitTexts(series: SeriesFacets): string[] {
  return buildSplit(series).map(
    ([facet, value]) => `${SPLIT_LABELS[facet].replace('_', ' ')} ${value === '' ? 'unknown' : value}`,
  );
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
