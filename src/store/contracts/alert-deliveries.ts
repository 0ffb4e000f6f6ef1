import type { AlertEvent } from '../../monitors/alert-event.ts';

/**
 * `planned`: the event belongs to a message that is being sent. `delivered`: the receiver has it. `dead`: given up, stored
 * as a dead letter. `muted`: its incident began and ended while a mute was active.
 */
export type AlertDeliveryState = 'planned' | 'delivered' | 'dead' | 'muted';

/** Delivery of an event in a channel. */
export interface AlertDelivery {
  readonly channel: string;
  readonly eventId: string;
  readonly incidentId: string;
  readonly tenant: string;
  /** Message that contains the event. The content of a message never changes, so that every retry sends the same. */
  readonly messageId: string;
  readonly state: AlertDeliveryState;
  /** Reason of the state `dead`; else ''. */
  readonly reason: string;
  /** Time when its message was planned, Unix milliseconds by the store's clock. */
  readonly plannedAtMs: number;
  /** 0, and one more for each replay of a dead event; the later round wins. */
  readonly round: number;
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
