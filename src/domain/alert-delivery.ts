import { column, wordOf, type RowOf, type Table } from './table.ts';

/**
 * `planned`: the event belongs to a message that is being sent. `delivered`: the receiver has it. `dead`: given up, stored
 * as a dead letter. `muted`: its incident began and ended while a mute was active.
 */
const STATES = ['planned', 'delivered', 'dead', 'muted'] as const;

/** Definition of `alert_deliveries`. */
export const ALERT_DELIVERIES = {
  name: 'alert_deliveries',
  columns: {
    channel: column('LowCardinality(String)'),
    eventId: column('UUID'),
    incidentId: column('UUID'),
    tenant: column('LowCardinality(String)'),
    /** Message that contains the event. The content of a message never changes, so that every retry sends the same. */
    messageId: column('UUID'),
    state: wordOf(STATES),
    /** Reason of the state `dead`; else ''. */
    reason: column('String'),
    /** Time when its message was planned, by the store's clock. */
    plannedAtMs: column("DateTime64(3, 'UTC')"),
    /** 0, and one more for each replay of a dead event; the later round wins. */
    round: column('UInt32'),
  },
  ofStore: { WrittenAt: "DateTime64(3, 'UTC')", Version: 'UInt64' },
} satisfies Table;

/** Delivery of an event in a channel. */
export type AlertDelivery = RowOf<typeof ALERT_DELIVERIES>;

/** Computes the version of a row: within a round, any later state follows the plan. */
export function alertDeliveryVersion({ round, state }: Pick<AlertDelivery, 'round' | 'state'>): bigint {
  return BigInt(round * 2 + (state === 'planned' ? 0 : 1));
}
