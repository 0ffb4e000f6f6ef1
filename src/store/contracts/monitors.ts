import type { AlertDelivery } from '../../domain/delivery.ts';
import type { SeriesFacets } from '../../domain/series-facets.ts';
import type { AlertEvent } from '../../monitors/alert-event.ts';
import type { SetAside } from '../../monitors/monitor-store.ts';

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

/** Agents and environments that a list of series is for; absent: all. */
export interface ChosenSeries {
  readonly agent?: readonly string[] | undefined;
  readonly environment?: readonly string[] | undefined;
}

/** Conditions on the series that rules watch. */
export interface StatusFilter extends ChosenSeries {
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
