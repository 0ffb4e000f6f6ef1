import { v5 as uuidv5 } from 'uuid';
import type { AppError } from '../../domain/errors.ts';
import type { AlertDelivery } from '../../store/contracts/alert-deliveries.ts';
import type { DeadLetter } from '../../store/contracts/dead-letters.ts';
import { buildDeliveries, type PlannedMessage } from './plan-messages.ts';

/** Signal of dead letters that contain alerts. */
export const ALERT_SIGNAL = 'alerts';

/** Builds the dead letter of a message that could not be delivered, with all data needed to send it again. */
export function deadAlert(
  channel: string,
  message: PlannedMessage,
  { error, attempts }: { readonly error: AppError; readonly attempts: number },
): DeadLetter {
  const deliveries = buildDeliveries(channel, message, 'dead', error.message);
  return {
    id: uuidv5(`${channel} ${message.round}`, message.id),
    source: channel,
    topic: '',
    partition: 0,
    firstOffset: 0n,
    lastOffset: 0n,
    tenant: message.events[0]?.series.tenant ?? '',
    signal: ALERT_SIGNAL,
    encoding: 'json',
    body: Buffer.from(JSON.stringify({ deliveries, events: message.events })),
    code: error.code,
    reason: error.message,
    attempts,
  };
}

/** Builds the delivery rows that send a dead message again. Throws for bytes that are no dead message. */
export function revivedDeliveries(body: Uint8Array, nowMs: number): AlertDelivery[] {
  const { deliveries } = JSON.parse(Buffer.from(body).toString('utf8')) as { deliveries: AlertDelivery[] };
  return deliveries.map((delivery) => ({
    ...delivery,
    state: 'planned',
    reason: '',
    plannedAtMs: nowMs,
    round: delivery.round + 1,
  }));
}
