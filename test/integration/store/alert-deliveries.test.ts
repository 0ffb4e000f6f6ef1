import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AlertEvent } from '../../../src/monitors/alert-event.ts';
import type { AlertDelivery } from '../../../src/domain/delivery.ts';
import { alertOfScorer, resolvedEvent } from '../../support/builders/an-alert.ts';
import { testStore, type TestStore } from '../../support/store/store-rows.ts';

let its: TestStore;
let channel: string;
let event: AlertEvent;

beforeAll(async () => {
  its = await testStore();
});
afterAll(() => its.stop());
beforeEach(async () => {
  channel = `webhook-${randomUUID()}`;
  event = alertOfScorer(randomUUID());
});

function delivery(of: AlertEvent, more: Partial<AlertDelivery> = {}): AlertDelivery {
  return {
    receiver: channel,
    eventId: of.id,
    incidentId: of.incidentId,
    tenant: of.series.tenant,
    messageId: of.id,
    state: 'planned',
    reason: '',
    plannedAtMs: 1_000,
    round: 0,
    ...more,
  };
}

/** Pending events of this incident; other tests store events in the same store. */
async function pending(fromMs = 0) {
  const all = await its.store.alertFeed.pending(channel, fromMs, 1_000);
  return all.filter((each) => each.event.incidentId === event.incidentId);
}

const LATER_MS = Date.now() + 3_600_000;

describe('pending events of a channel', () => {
  it('is every event, whole, until something became of it', async () => {
    const { alerts, alertFeed } = its.store;
    await alerts.write([event]);
    await alerts.write([event]);
    const [found, ...more] = await pending();
    expect(found?.event).toEqual(event);
    expect(found?.plan).toBeNull();
    expect(Math.abs((found?.writtenAtMs ?? 0) - Date.now())).toBeLessThan(60_000);
    expect(more).toEqual([]);

    await alertFeed.record([delivery(event)]);
    expect((await pending())[0]?.plan).toEqual({ messageId: event.id, plannedAtMs: 1_000, round: 0 });
    await alertFeed.record([delivery(event, { state: 'delivered' })]);
    expect(await pending()).toEqual([]);
  });

  it('are delivered to each channel separately', async () => {
    await its.store.alerts.write([event]);
    await its.store.alertFeed.record([delivery(event, { state: 'delivered', receiver: 'another' })]);
    expect(await pending()).toHaveLength(1);
  });

  it('keep their state when a plan is recorded again after its end', async () => {
    await its.store.alerts.write([event]);
    await its.store.alertFeed.record([delivery(event, { state: 'dead', reason: 'gone' })]);
    await its.store.alertFeed.record([delivery(event)]);
    expect(await pending()).toEqual([]);
    await its.store.alertFeed.record([delivery(event, { round: 1 })]);
    expect((await pending())[0]?.plan?.round).toBe(1);
  });

  it('is nothing of incidents that were over before the time asked for', async () => {
    const end = resolvedEvent(event);
    await its.store.alerts.write([event]);
    expect(await pending(LATER_MS)).toHaveLength(1);
    await its.store.alerts.write([end]);
    expect(await pending(LATER_MS)).toEqual([]);
    expect(await pending()).toHaveLength(2);
    await its.store.alertFeed.record([delivery(end)]);
    expect((await pending(LATER_MS)).map((each) => each.event.id)).toEqual([end.id]);
  });

  it('begin with messages under way, complete for any limit', async () => {
    const others = [alertOfScorer(randomUUID()), alertOfScorer(randomUUID())];
    await its.store.alerts.write([...others, event]);
    await its.store.alertFeed.record([delivery(event)]);
    const [first] = await its.store.alertFeed.pending(channel, 0, 1);
    expect(first?.event.id).toBe(event.id);
  });
});

describe('delivered events of a channel', () => {
  const ids = (events: readonly AlertEvent[]) =>
    events.filter(({ incidentId }) => incidentId === event.incidentId).map(({ id }) => id);

  it('are beginnings of open incidents, and recent ends', async () => {
    const { alerts, alertFeed } = its.store;
    const end = resolvedEvent(event);
    await alerts.write([event]);
    expect(ids((await alertFeed.sent(channel, 0)).firing)).toEqual([]);
    await alertFeed.record([delivery(event, { state: 'delivered' })]);
    expect(ids((await alertFeed.sent(channel, 0)).firing)).toEqual([event.id]);

    await alerts.write([end]);
    expect(await alertFeed.sent(channel, 0)).toEqual({ firing: [], resolved: [] });
    await alertFeed.record([delivery(end, { state: 'delivered' })]);
    expect(await alertFeed.sent(channel, 0)).toEqual({ firing: [], resolved: [end] });
    expect(await alertFeed.sent(channel, LATER_MS)).toEqual({ firing: [], resolved: [] });
  });
});
