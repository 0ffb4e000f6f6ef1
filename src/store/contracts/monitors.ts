import type { AlertDelivery } from '../../domain/delivery.ts';
import type { Deploy, DeployMarker } from '../../domain/deploy-marker.ts';
import type { SeriesFacets } from '../../domain/series-facets.ts';
import type { AlertEvent } from '../../monitors/alert-event.ts';
import type { MonitorStatus } from '../../monitors/monitor-status.ts';
import type { JudgeDrift, SetAside } from '../../monitors/monitor-store.ts';
import type { Mute } from '../../monitors/mute.ts';
import type { VersionScores } from '../../monitors/version-compare.ts';
import type { Listed, ListPage } from './lists.ts';

/** Store of alert events, acknowledgements and mutes. Times are Unix milliseconds by the store's clock. */
export interface AlertStore {
  /** Stores events under their ids; a repeated event has no effect. */
  write(events: readonly AlertEvent[]): Promise<void>;
  /** Returns the stored ones of these event ids. */
  known(ids: readonly string[]): Promise<Set<string>>;
  /** Returns the `firing` events of open incidents. */
  open(): Promise<AlertEvent[]>;
  /**
   * Returns the events of an incident, its beginning first; empty for an unknown id.
   * @param id id of the incident, or of one of its events
   */
  incident(id: string): Promise<AlertEvent[]>;
  /** Newest first. */
  list(
    filter: { readonly tenant?: string | undefined; readonly sinceMs?: number | undefined },
    page: ListPage,
  ): Promise<Listed<AlertEvent>>;
  /** Lists the beginnings of incidents that have not ended, newest first. */
  listOpen(tenant: string | undefined, page: ListPage): Promise<Listed<AlertEvent>>;
  /** Accepts the change of an incident as normal. */
  acknowledge(incidentId: string, by: Replier): Promise<void>;
  /** Adds a note to an incident. */
  addNote(incidentId: string, note: Replier & { readonly text: string }): Promise<void>;
  /** Lists the notes on an incident, the oldest first. */
  notes(incidentId: string): Promise<readonly AlertNote[]>;
  /** Lists what became of the events of an incident in each channel, by time; those of mutes are left out. */
  messages(incidentId: string): Promise<readonly AlertMessage[]>;
  /** Reads the times of the first acknowledgements, by incident id. */
  acknowledged(): Promise<Map<string, number>>;
  /** Returns events written since a time (Unix milliseconds) for which it is not known who changed. */
  deciding(sinceMs: number): Promise<AlertEvent[]>;
  /** Reads the directed scores of a series that monitors count since a time (Unix milliseconds), the oldest first. */
  scoresSince(series: SeriesFacets, fromMs: number): Promise<readonly number[]>;
  /** Reads the incidents of judges, the oldest first. */
  judgeDrifts(): Promise<JudgeDrift[]>;
  /** Mutes a subject until a time; a time in the past ends the mute. */
  mute(mute: Mute): Promise<void>;
  /** Returns the active mutes; with `sinceMs` (Unix milliseconds), also those that ended after this time. */
  mutes(sinceMs?: number): Promise<Mute[]>;
  /** Lists the active mutes of a tenant and of all tenants, the latest begun first. Without a tenant: every mute. */
  listMutes(tenant: string | undefined, page: ListPage): Promise<Listed<Mute>>;
}

/** Person or program that answers an incident. */
export interface Replier {
  /** Tenant of the incident. */
  readonly tenant: string;
  /** Name of the token; '' without tokens. */
  readonly by: string;
}

/** Note of a person on an incident. */
export interface AlertNote {
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly by: string;
  readonly text: string;
}

/** Message about an incident in one channel. */
export interface AlertMessage {
  readonly channel: string;
  /** Unix milliseconds: of the plan while it waits, else of its end. */
  readonly atMs: number;
  readonly state: Exclude<AlertDelivery['state'], 'muted' | 'withdrawn' | 'removed'>;
}

/** Conditions on markers. */
export interface MarkerFilter {
  readonly tenant?: string | undefined;
  readonly sinceMs?: number | undefined;
  /** Version of a service or an agent. */
  readonly version?: string | undefined;
}

export interface MarkerStore {
  record(marker: DeployMarker): Promise<void>;
  /** Lists markers, newest first. The first version that was seen of an agent is included. */
  list(filter: MarkerFilter, page: ListPage): Promise<Listed<DeployMarker>>;
  /** Returns every series of a deploy: its scores of the two weeks before, and those of the new version since. */
  scoresAround(deploy: Deploy): Promise<VersionScores[]>;
}

/** Conditions on the series that rules watch. */
export interface StatusFilter {
  readonly ruleKeys: readonly string[];
  readonly tenant?: string | undefined;
  /** Earliest begin of the phase, Unix milliseconds. */
  readonly sinceMs?: number | undefined;
}

/** Scores of one scorer that monitors did not count. */
export interface ScorerSetAside extends SetAside {
  readonly scorer: string;
  readonly folded: number;
}

/** Scores of a series that came too late for monitors. Times are Unix milliseconds. */
export interface LateScores {
  /** Series without the facets by which rules split it. */
  readonly series: SeriesFacets;
  readonly scores: number;
  /** Start of the latest bucket with such a score. */
  readonly lastBucketMs: number;
}

/** Buckets of one length since a time, Unix milliseconds. */
export interface RecentBuckets {
  readonly intervalMs: number;
  readonly sinceMs: number;
  readonly tenant?: string | undefined;
}

/** Stored score, as a monitor would have folded it. */
export interface PastScore {
  /** Series with every facet by which it can be split. */
  readonly series: SeriesFacets;
  /**
   * Start of the scored run, Unix milliseconds: a score of a backfill belongs to the time of its run, not to the day of the
   * backfill.
   */
  readonly atMs: number;
  /** Directed score in thousandths. */
  readonly step: number;
}

/** Reads monitors for people. */
export interface MonitorView {
  /**
   * Reads current scores of live traffic and backfills whose runs began in a range of time: those of the uniform sample
   * with a range.
   */
  pastScores(range: { readonly fromMs: number; readonly toMs: number }): AsyncIterable<readonly PastScore[]>;
  /**
   * Reads the states of rules on their series: alerts first, then by alert and series. Includes rules of the last hour,
   * each with its current state.
   */
  statuses(filter: StatusFilter, limit: number): Promise<MonitorStatus[]>;
  /** Lists the same states by alert and series, which a change of a state does not move. */
  listStatuses(filter: StatusFilter, page: ListPage): Promise<Listed<MonitorStatus>>;
  /** Counts the folded and omitted scores since a time, by scorer, from buckets of one length. */
  setAside(query: RecentBuckets): Promise<ScorerSetAside[]>;
  /** Counts the late scores of each series that has any, from buckets of one length. */
  lateScores(query: RecentBuckets): Promise<LateScores[]>;
}

export type { AlertDelivery };

/** Event that was not delivered to a channel yet. */
export interface PendingAlert {
  readonly event: AlertEvent;
  /** Time when the store wrote it, Unix milliseconds. */
  readonly writtenAtMs: number;
  /** Null until the event belongs to a message. */
  readonly plan: Pick<AlertDelivery, 'messageId' | 'plannedAtMs' | 'round'> | null;
}

/** Alerts that a channel with reminders sends again. */
export interface SentAlerts {
  /** Beginnings of open incidents. */
  readonly firing: readonly AlertEvent[];
  /** Ends delivered since the requested time. */
  readonly resolved: readonly AlertEvent[];
}

/** Part of the store that alert delivery uses. */
export interface AlertFeed {
  /**
   * Reads events that the channel has not delivered: first those of messages under way, then by time. The others are events
   * of open incidents, and of incidents with an event written at or after `fromMs`.
   */
  pending(channel: string, fromMs: number, limit: number): Promise<PendingAlert[]>;
  /** Writes all deliveries or none; a repeat changes nothing. */
  record(deliveries: readonly AlertDelivery[]): Promise<void>;
  /**
   * Reads the alerts to remind the channel of: beginnings of open incidents, delivered or given up, and ends delivered since
   * the given time.
   */
  sent(channel: string, resolvedSinceMs: number): Promise<SentAlerts>;
}
