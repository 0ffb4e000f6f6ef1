import { beforeEach, describe, expect, it } from 'vitest';
import type { AlertChannel, AlertMessage } from '../../../src/delivery/channels/channel.ts';
import { ChannelDelivery, revivedDeliveries } from '../../../src/delivery/deliver-alerts.ts';
import type { Counts, Delivery, Outcome } from '../../../src/delivery/deliver.ts';
import type { AlertEvent } from '../../../src/monitors/alert-event.ts';
import { AppError } from '../../../src/domain/errors.ts';
import type { Mute } from '../../../src/monitors/mute.ts';
import type { DeadLetter } from '../../../src/store/contracts/dead-letters.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { alertOfScorer, resolvedEvent } from '../../support/builders/an-alert.ts';
import { MemoryAlertFeed } from '../../support/fakes/memory-alert-feed.ts';

const HOUR_MS = 3_600_000;
const delivered: Outcome = { kind: 'delivered' };
const a = alertOfScorer('a');
const b = alertOfScorer('b');

let feed: MemoryAlertFeed;
let sent: AlertMessage[];
let reminded: (readonly AlertEvent[])[];
let letters: DeadLetter[];
let mutes: Mute[];
let counts: Counts;
let answer: (message: AlertMessage) => Outcome;
let delivery: Delivery;

/** The same channel after a restart. */
function restart(more: Partial<AlertChannel> = {}): Delivery {
  const channel: AlertChannel = {
    name: 'ops',
    maxEvents: 1,
    send: async (message) => {
      sent.push(message);
      return answer(message);
    },
    ...more,
  };
  counts = { delivered: 0, dead: 0, failures: 0 };
  return new ChannelDelivery(
    channel,
    {},
    {
      feed,
      mutes: async () => mutes,
      deadLetters: { write: async (set) => void letters.push(...set) },
      log: silentLog,
      now: () => feed.clockMs,
      random: () => 1,
      counts,
      checkDuty: async () => undefined,
      giveUp: new AbortController().signal,
    },
  );
}

beforeEach(() => {
  feed = new MemoryAlertFeed(Date.UTC(2026, 10, 21, 12));
  [sent, reminded, letters, mutes] = [[], [], [], []];
  answer = () => delivered;
  delivery = restart();
});

/** Runs after so many milliseconds; the ids of what was sent. */
async function runAfter(ms: number): Promise<string[]> {
  feed.clockMs += ms;
  const before = sent.length;
  await delivery.pass();
  return sent.slice(before).map(({ id }) => id);
}

function failed(more: { isAway?: boolean; retryAfterMs?: number } = {}): Outcome {
  const error = new AppError('HTTP 500', {
    code: 'delivery_failed',
    stage: 'alert',
    retryable: true,
    retryAfterMs: more.retryAfterMs,
  });
  return { kind: more.isAway === true ? 'away' : 'failed', error };
}

function refused(): Outcome {
  const error = new AppError('HTTP 404', { code: 'delivery_failed', stage: 'alert', retryable: false });
  return { kind: 'refused', error };
}

describe('a channel', () => {
  it('gets every event once', async () => {
    feed.write(a, b);
    expect((await runAfter(0)).sort()).toEqual([a.id, b.id].sort());
    expect(await runAfter(2_000)).toEqual([]);
    delivery = restart();
    expect(await runAfter(2_000)).toEqual([]);
    expect(counts).toEqual({ delivered: 0, dead: 0, failures: 0 });
  });

  it('that fails is tried again after waits that double, to five minutes at most', async () => {
    feed.write(a);
    answer = () => failed();
    const waits = [0, 999, 1, 1_999, 1, 3_999, 1];
    const tries: number[] = [];
    for (const wait of waits) {
      tries.push((await runAfter(wait)).length);
    }
    expect(tries).toEqual([1, 0, 1, 0, 1, 0, 1]);
    for (let index = 0; index < 20; index += 1) {
      expect(await runAfter(300_000)).toEqual([a.id]);
    }
    answer = () => delivered;
    expect(await runAfter(300_000)).toEqual([a.id]);
    expect(counts).toMatchObject({ delivered: 1, failures: 24 });
  });

  it('that asks for time is given it, for all messages', async () => {
    feed.write(a);
    answer = () => failed({ isAway: true, retryAfterMs: 60_000 });
    await runAfter(0);
    feed.write(b);
    expect(await runAfter(59_999)).toEqual([]);
    answer = () => delivered;
    expect((await runAfter(1)).sort()).toEqual([a.id, b.id].sort());
  });

  it('waits an hour at most for a receiver that asks for more', async () => {
    feed.write(a);
    answer = () => failed({ isAway: true, retryAfterMs: 1_000 * HOUR_MS });
    await runAfter(0);
    expect(await runAfter(HOUR_MS)).toEqual([a.id]);
  });

  it('tries others before a message that always fails', async () => {
    feed.write(a);
    answer = ({ id }) => (id === a.id ? failed({ isAway: true }) : delivered);
    await runAfter(0);
    feed.write(b);
    expect(await runAfter(1_000)).toEqual([b.id, a.id]);
  });

  it('that cannot be reached is asked once, not for every message', async () => {
    feed.write(a, b);
    answer = () => failed({ isAway: true });
    expect(await runAfter(0)).toHaveLength(1);
  });

  it('gets an end after its beginning, however often the beginning fails', async () => {
    feed.write(a);
    answer = () => failed();
    await runAfter(0);
    feed.write(resolvedEvent(a));
    expect(await runAfter(500)).toEqual([]);
    expect(await runAfter(500)).toEqual([a.id]);
    answer = () => delivered;
    expect([...(await runAfter(10_000)), ...(await runAfter(2_000))]).toEqual([a.id, resolvedEvent(a).id]);
  });
});

describe('a message that is given up', () => {
  it('is set aside at once when the receiver will never take it, and others go on', async () => {
    feed.write(a, b);
    answer = ({ id }) => (id === a.id ? refused() : delivered);
    await runAfter(0);
    expect(feed.findState('ops', a)).toBe('dead');
    expect(feed.findState('ops', b)).toBe('delivered');
    expect(letters).toMatchObject([
      { source: 'ops', signal: 'alerts', code: 'delivery_failed', reason: 'HTTP 404', attempts: 1 },
    ]);
    expect(await runAfter(HOUR_MS)).toEqual([]);
    expect(counts).toEqual({ delivered: 1, dead: 1, failures: 0 });
  });

  it('is set aside after a day of failures, and not before', async () => {
    feed.write(a);
    answer = () => failed();
    await runAfter(0);
    await runAfter(24 * HOUR_MS - 1);
    expect(letters).toEqual([]);
    await runAfter(300_000);
    expect(letters).toHaveLength(1);
    expect(await runAfter(HOUR_MS)).toEqual([]);
  });

  it('has one letter, however often the end of it is not recorded', async () => {
    feed.write(a);
    answer = () => refused();
    feed.failing = () => letters.length === 1;
    await expect(runAfter(0)).rejects.toThrow('the store is away');
    feed.failing = () => false;
    delivery = restart();
    await runAfter(0);
    expect(new Set(letters.map(({ id }) => id)).size).toBe(1);
  });

  it('is sent again when its letter is replayed, and has another letter when it fails again', async () => {
    feed.write(a);
    answer = () => refused();
    await runAfter(0);
    await feed.record(revivedDeliveries(letters[0]?.body ?? new Uint8Array(), feed.clockMs));
    expect(await runAfter(0)).toEqual([a.id]);
    expect(new Set(letters.map(({ id }) => id)).size).toBe(2);
    await feed.record(revivedDeliveries(letters[1]?.body ?? new Uint8Array(), feed.clockMs));
    answer = () => delivered;
    expect(await runAfter(0)).toEqual([a.id]);
    expect(feed.findState('ops', a)).toBe('delivered');
  });
});

describe('a store that is away', () => {
  it('after a message was sent causes no second message', async () => {
    feed.write(a);
    feed.failing = () => sent.length > 0;
    await expect(runAfter(0)).rejects.toThrow('the store is away');
    await expect(runAfter(0)).rejects.toThrow('the store is away');
    feed.failing = () => false;
    expect(await runAfter(0)).toEqual([]);
    expect(feed.findState('ops', a)).toBe('delivered');
    expect(sent).toHaveLength(1);
  });

  it('before a message is sent delays it: its events must be recorded first', async () => {
    feed.write(a);
    feed.failing = () => true;
    await expect(runAfter(0)).rejects.toThrow('the store is away');
    expect(sent).toEqual([]);
  });
});

describe('a process that ended', () => {
  it('between the attempt and its record sends the very same message again', async () => {
    const version = { serviceVersion: '1' };
    const mates = [alertOfScorer('x', version), alertOfScorer('y', version)];
    delivery = restart({ maxEvents: 50 });
    feed.write(...mates);
    feed.failing = () => sent.length > 0;
    await expect(runAfter(30_000)).rejects.toThrow('the store is away');
    feed.failing = () => false;
    // One more of the deploy comes before the restart: it is no part of what was sent.
    const late = alertOfScorer('z', version);
    feed.write(late);
    delivery = restart({ maxEvents: 50 });
    await runAfter(30_000);
    expect(sent.map(({ events }) => events.length)).toEqual([2, 2, 1]);
    expect(sent[1]).toMatchObject({ id: sent[0]?.id, events: sent[0]?.events });
  });
});

it('an incident that began and ended while muted is never sent', async () => {
  mutes = [{ tenant: '', subject: a.incidentId, untilMs: feed.clockMs + HOUR_MS }];
  feed.write(a);
  expect(await runAfter(0)).toEqual([]);
  feed.write(resolvedEvent(a));
  expect(await runAfter(1_000)).toEqual([]);
  expect([feed.findState('ops', a), feed.findState('ops', resolvedEvent(a))]).toEqual(['muted', 'muted']);
  mutes = [];
  expect(await runAfter(1_000)).toEqual([]);
});

describe('a receiver that forgets', () => {
  beforeEach(() => {
    delivery = restart({
      reminders: {
        everyMs: 60_000,
        resolvedForMs: 300_000,
        send: async (events) => {
          reminded.push(events);
          return delivered;
        },
      },
    });
  });

  const listReminded = () => reminded.map((events) => events.map(({ status }) => status));

  it('is reminded of what fires, each interval, and of an end for five minutes', async () => {
    feed.write(a);
    await runAfter(0);
    await runAfter(59_000);
    await runAfter(1_000);
    expect(listReminded()).toEqual([['firing'], ['firing']]);
    feed.write(resolvedEvent(a));
    reminded.length = 0;
    for (let minute = 0; minute < 10; minute += 1) {
      await runAfter(60_000);
    }
    // The first is the minute in which it was delivered.
    expect(listReminded()).toEqual(Array.from({ length: 6 }, () => ['resolved']));
  });

  it('is reminded by a process that was started again', async () => {
    feed.write(a);
    await runAfter(0);
    reminded.length = 0;
    delivery = restart({
      reminders: {
        everyMs: 60_000,
        resolvedForMs: 300_000,
        send: async (events) => {
          reminded.push(events);
          return failed();
        },
      },
    });
    await runAfter(1_000);
    expect(listReminded()).toEqual([['firing']]);
    expect(counts.failures).toBe(1);
  });
});
