import type { AlertDelivery } from '../../domain/alert-delivery.ts';
import type { AlertEvent } from '../../monitors/alert-event.ts';

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
