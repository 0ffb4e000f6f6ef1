import type { AlertEvent } from '../../domain/alert.ts';
import type { DeployMarker } from '../../domain/deploy-marker.ts';
import type { Mute } from '../../domain/mute.ts';

/** What monitors found, and what people said to it. Times are Unix milliseconds by the store's clock. */
export interface AlertStore {
  /** Stores events under their ids; a repeat changes nothing that counts. */
  write(events: readonly AlertEvent[]): Promise<void>;
  /** Which of these event ids are stored. */
  known(ids: readonly string[]): Promise<Set<string>>;
  /** The `firing` events whose incident has not ended. */
  open(): Promise<AlertEvent[]>;
  /** The events of an incident, its beginning first; none for an id that is not known. */
  incident(id: string): Promise<AlertEvent[]>;
  /** Newest first. */
  list(filter: {
    readonly tenant?: string | undefined;
    readonly sinceMs?: number | undefined;
    readonly limit: number;
  }): Promise<AlertEvent[]>;
  /** Says that what an incident found is the new normal. */
  acknowledge(incidentId: string): Promise<void>;
  /** When incidents were first acknowledged, by id. */
  acknowledged(): Promise<Map<string, number>>;
  /** Mutes a subject until a time, or, with a time that has passed, lets it speak again. */
  mute(mute: Mute): Promise<void>;
  /** Mutes that hold now. */
  mutes(): Promise<Mute[]>;
}

export interface MarkerStore {
  record(marker: DeployMarker): Promise<void>;
  /** Newest first. The first version of an agent that was ever seen is among them. */
  list(filter: {
    readonly tenant?: string | undefined;
    readonly sinceMs?: number | undefined;
    readonly limit: number;
  }): Promise<DeployMarker[]>;
}
