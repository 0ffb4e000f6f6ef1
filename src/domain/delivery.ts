import { column, wordOf, type RowOf, type Table } from './table.ts';

/**
 * `planned`: the item belongs to a message that is being sent. `delivered`: the receiver has it. `dead`: given up, stored
 * as a dead letter. `muted`: its incident began and ended while a mute was active. `withdrawn`: a replay whose score is gone.
 * `removed`: the score was deleted, and its deletion is delivered or a dead letter.
 */
const STATES = ['planned', 'delivered', 'dead', 'muted', 'withdrawn', 'removed'] as const;

/** Definition of `deliveries`. */
export const DELIVERIES = {
  name: 'deliveries',
  columns: {
    kind: wordOf(
      ['alert', 'score', 'replay'],
      '`replay`: a dead letter of a score that is sent again; it goes when it has ended.',
    ),
    /** Name of the channel or the exporter. */
    receiver: column('LowCardinality(String)'),
    scoreId: column('UUID'),
    revision: column('UInt32'),
    eventId: column('UUID'),
    incidentId: column('UUID'),
    tenant: column('LowCardinality(String)'),
    /** Message that contains the event. The content of a message never changes, so that every retry sends the same. */
    messageId: column('UUID'),
    state: wordOf(STATES),
    /** Reason of the state `dead` of an alert; else ''. */
    reason: column('String'),
    /** Time when the message of an alert was planned, by the store's clock. */
    plannedAtMs: column("DateTime64(3, 'UTC')"),
    /** 0, and one more for each replay of a dead item; the later round wins. */
    round: column('UInt32'),
    /** True for a replay that has ended. */
    isDeleted: column('UInt8'),
  },
  ofStore: { WrittenAt: "DateTime64(3, 'UTC')", Version: 'UInt64' },
} satisfies Table;

/** Delivery of a score or of an alert's event to one receiver. */
export type Delivery = RowOf<typeof DELIVERIES>;

export type AlertDelivery = Omit<Delivery, 'kind' | 'scoreId' | 'revision' | 'isDeleted'>;

/** Computes the version of a row: within a round, any later state follows the plan. */
export function deliveryVersion({ round, state }: Pick<Delivery, 'round' | 'state'>): bigint {
  return BigInt(round * 2 + (state === 'planned' ? 0 : 1));
}

/** State of an exporter since its start in this process. */
export interface ExporterState {
  readonly name: string;
  readonly sent: number;
  readonly waiting: number;
  readonly deadLetters: number;
  readonly skipped: number;
  readonly lastError: string | null;
}
