import type { AlertEvent } from '../../monitors/alert-event.ts';

/**
 * `planned`: it belongs to a message that is being sent. `delivered`: the receiver has it. `dead`: given up, set aside as a
 * dead letter. `muted`: its incident began and ended while nobody was to be told.
 */
export type AlertDeliveryState = 'planned' | 'delivered' | 'dead' | 'muted';

/** Delivery of an event in a channel. */
export interface AlertDelivery {
  readonly channel: string;
  readonly eventId: string;
  readonly incidentId: string;
  readonly tenant: string;
  /** The message that it goes out with. What is in a message never changes, so that every repeat of it is the same. */
  readonly messageId: string;
  readonly state: AlertDeliveryState;
  /** Reason why it is dead; else ''. */
  readonly reason: string;
  /** Time when its message was planned, Unix milliseconds by the store's clock. */
  readonly plannedAtMs: number;
  /** 0, and one more with each replay after it was given up; the later round wins. */
  readonly round: number;
}

/** An event that a channel has not been told yet. */
export interface PendingAlert {
  readonly event: AlertEvent;
  /** Time when the store took it, Unix milliseconds. */
  readonly writtenAtMs: number;
  /** Null until it belongs to a message. */
  readonly plan: Pick<AlertDelivery, 'messageId' | 'plannedAtMs' | 'round'> | null;
}

/** Alerts that a channel with reminders was sent. */
export interface ToldAlerts {
  /** Beginnings of incidents that go on. */
  readonly firing: readonly AlertEvent[];
  /** Ends that were delivered since the time that was asked for. */
  readonly resolved: readonly AlertEvent[];
}

/** The part of the store that the delivery of alerts lives on. */
export interface AlertFeed {
  /**
   * Events that the channel has not been told: those of messages under way first, then by their time. Of others, those of
   * incidents that go on, or of which something was written at or after `fromMs`.
   */
  pending(channel: string, fromMs: number, limit: number): Promise<PendingAlert[]>;
  /** All or none of them; a repeat changes nothing. */
  record(deliveries: readonly AlertDelivery[]): Promise<void>;
  told(channel: string, resolvedSinceMs: number): Promise<ToldAlerts>;
}
