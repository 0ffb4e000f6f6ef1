import { deliveryVersion } from '../../../src/domain/delivery.ts';
import type { AlertEvent } from '../../../src/monitors/alert-event.ts';
import type { AlertDelivery } from '../../../src/domain/delivery.ts';
import type { PendingAlert } from '../../../src/store/contracts/monitors.ts';
import type { AlertFeed } from '../../../src/store/monitors/alert-deliveries.ts';

/** Delivery states of alerts in memory. For each alert, the record with the greatest version counts. */
export class MemoryAlertFeed implements AlertFeed {
  readonly #events = new Map<string, { event: AlertEvent; writtenAtMs: number }>();
  readonly #deliveries = new Map<string, AlertDelivery & { atMs: number }>();
  /** Time of the store's clock. */
  clockMs: number;
  /** While it returns true, writes throw, as when the store is unavailable. */
  failing: () => boolean = () => false;

  constructor(clockMs: number) {
    this.clockMs = clockMs;
  }

  write(...events: AlertEvent[]): void {
    for (const event of events) {
      this.#events.set(event.id, { event, writtenAtMs: this.clockMs });
    }
  }

  /** Returns the state of an event in a channel. */
  findState(channel: string, event: AlertEvent): AlertDelivery['state'] | undefined {
    return this.#deliveries.get(`${channel} ${event.id}`)?.state;
  }

  async pending(channel: string, fromMs: number, limit: number): Promise<PendingAlert[]> {
    const all = [...this.#events.values()];
    const found = all.flatMap(({ event, writtenAtMs }): PendingAlert[] => {
      const known = this.#deliveries.get(`${channel} ${event.id}`);
      if (known !== undefined) {
        return known.state === 'planned' ? [{ event, writtenAtMs, plan: known }] : [];
      }
      const ofIncident = all.filter((other) => other.event.incidentId === event.incidentId);
      const goesOn = ofIncident.every((other) => other.event.status === 'firing');
      const isRecent = ofIncident.some((other) => other.writtenAtMs >= fromMs);
      return goesOn || isRecent ? [{ event, writtenAtMs, plan: null }] : [];
    });
    const rank = ({ plan }: PendingAlert) => (plan === null ? 1 : 0);
    return found.sort((a, b) => rank(a) - rank(b) || a.writtenAtMs - b.writtenAtMs).slice(0, limit);
  }

  async record(deliveries: readonly AlertDelivery[]): Promise<void> {
    if (deliveries.length > 0 && this.failing()) {
      throw new Error('the store is away');
    }
    for (const delivery of deliveries) {
      const key = `${delivery.receiver} ${delivery.eventId}`;
      const known = this.#deliveries.get(key);
      if (known === undefined || deliveryVersion(delivery) >= deliveryVersion(known)) {
        this.#deliveries.set(key, { ...delivery, atMs: this.clockMs });
      }
    }
  }

  async sent(channel: string, sinceMs: number) {
    const events = [...this.#events.values()].map(({ event }) => event);
    const of = (event: AlertEvent) => this.#deliveries.get(`${channel} ${event.id}`);
    const ended = new Set(events.filter(isEnd).map(({ incidentId }) => incidentId));
    return {
      firing: events.filter(
        (event) =>
          !isEnd(event) &&
          !ended.has(event.incidentId) &&
          ['delivered', 'dead'].includes(of(event)?.state ?? ''),
      ),
      resolved: events.filter(
        (event) => isEnd(event) && of(event)?.state === 'delivered' && (of(event)?.atMs ?? 0) >= sinceMs,
      ),
    };
  }
}

function isEnd({ status }: AlertEvent): boolean {
  return status === 'resolved';
}
