import type { SeriesFacets } from '../../domain/series-facets.ts';
import type { AlertEvent } from '../../monitors/alert-event.ts';
import type { Deploy, DeployMarker } from '../../domain/deploy-marker.ts';
import type { Mute } from '../../monitors/mute.ts';
import type { SetAside } from '../../monitors/monitor-store.ts';
import type { VersionScores } from '../../monitors/version-compare.ts';
import type { MonitorStatus } from '../../monitors/monitor-status.ts';

/** Store of alert events, acknowledgements and mutes. Times are Unix milliseconds by the store's clock. */
export interface AlertStore {
  /** Stores events under their ids; a repeat changes nothing that counts. */
  write(events: readonly AlertEvent[]): Promise<void>;
  /** Returns those of the event ids that are stored. */
  known(ids: readonly string[]): Promise<Set<string>>;
  /** The `firing` events whose incident has not ended. */
  open(): Promise<AlertEvent[]>;
  /** The events of an incident, its beginning first; none for an id that is not known. */
  incident(id: string): Promise<AlertEvent[]>;
  /** Newest first. */
  list(filter: {
    readonly tenant?: string | undefined;
    readonly sinceMs?: number | undefined;
    /** So many are left out first. */
    readonly offset?: number | undefined;
    readonly limit: number;
  }): Promise<AlertEvent[]>;
  /** Says that what an incident found is the new normal. */
  acknowledge(incidentId: string): Promise<void>;
  /** Reads the times of the first acknowledgements, by incident id. */
  acknowledged(): Promise<Map<string, number>>;
  /** Mutes a subject until a time, or, with a time that has passed, lets it speak again. */
  mute(mute: Mute): Promise<void>;
  /** Mutes that hold now; or that held after a moment (Unix milliseconds), those that have ended included. */
  mutes(sinceMs?: number): Promise<Mute[]>;
}

export interface MarkerStore {
  record(marker: DeployMarker): Promise<void>;
  /** Newest first. The first version of an agent that was ever seen is among them. */
  list(filter: {
    readonly tenant?: string | undefined;
    readonly sinceMs?: number | undefined;
    readonly offset?: number | undefined;
    /** Of a service or an agent. */
    readonly version?: string | undefined;
    readonly limit: number;
  }): Promise<DeployMarker[]>;
  /** Every series of a deploy: its scores of the two weeks before, and those of the new version since. */
  scoresAround(deploy: Deploy): Promise<VersionScores[]>;
}

/** A page of the series that rules watch. */
export interface StatusQuery {
  readonly ruleKeys: readonly string[];
  readonly tenant?: string | undefined;
  readonly offset?: number | undefined;
  readonly limit: number;
}

/** Scores of one scorer that monitors did not fold. */
export interface ScorerSetAside extends SetAside {
  readonly scorer: string;
  readonly folded: number;
}

/** A score of the past, as a monitor would have folded it. */
export interface PastScore {
  /** With every facet that it can be split by. */
  readonly series: SeriesFacets;
  /** Start of the scored run, Unix milliseconds: a backfill belongs to the past, not to the day on which it ran. */
  readonly atMs: number;
  /** Directed, in thousandths. */
  readonly step: number;
}

/** View of monitors for people. */
export interface MonitorView {
  /** Current scores of live traffic and backfills, of the uniform sample, with a range, whose runs began in a range of time. */
  pastScores(range: { readonly fromMs: number; readonly toMs: number }): AsyncIterable<readonly PastScore[]>;
  /**
   * Reads the states of rules on their series: alerts first, then by alert and series. Rules of the last hour, each with its
   * present state.
   */
  statuses(query: StatusQuery): Promise<MonitorStatus[]>;
  /** Counts the scores folded and left out since a time, by scorer, from buckets of one length. */
  setAside(query: {
    readonly intervalMs: number;
    readonly sinceMs: number;
    readonly tenant?: string | undefined;
  }): Promise<ScorerSetAside[]>;
}
