import { beforeEach, describe, expect, it } from 'vitest';
import type { AlertChannel, AlertMessage } from '../../../src/delivery/channels/channel.ts';
import {
  ChannelDelivery,
  type PlanTerms,
  listUnfinishedMessages,
  planMessages,
  revivedDeliveries,
} from '../../../src/delivery/deliver-alerts.ts';
import type { Counts, Delivery, Outcome } from '../../../src/delivery/deliver.ts';
import { AppError } from '../../../src/domain/errors.ts';
import type { AlertEvent } from '../../../src/monitors/alert-event.ts';
import { ALL_TENANTS, type Mute } from '../../../src/monitors/mute.ts';
import type { PendingAlert } from '../../../src/store/contracts/monitors.ts';
import type { DeadLetter } from '../../../src/store/contracts/dead-letters.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { alertOfScorer, anAlert, budgetAlert, resolvedEvent } from '../../support/builders/an-alert.ts';
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

const PLANNED_AT = 1_000_000;
const terms: PlanTerms = {
  maxEvents: 50,
  groupWaitMs: 30_000,
  mutes: [],
  sendsJudgeDrift: false,
  nowMs: PLANNED_AT,
};
const deployed = (scorer: string, more: Partial<AlertEvent> = {}) =>
  alertOfScorer(scorer, { serviceVersion: '1.2.3', ...more });

/** Events that came so many milliseconds ago. */
function came(agoMs: number, ...events: AlertEvent[]): PendingAlert[] {
  return events.map((event) => ({ event, writtenAtMs: PLANNED_AT - agoMs, plan: null }));
}

function listScorers(pending: readonly PendingAlert[], more: Partial<PlanTerms> = {}): string[][] {
  return planMessages(pending, { ...terms, ...more }).messages.map(({ events }) =>
    events.map(({ series }) => series.scorer).sort(),
  );
}

describe('alerts of one deploy', () => {
  it('go out together once the first has waited for the others', () => {
    const [first, second, third] = [deployed('a'), deployed('b'), deployed('c')];
    const pending = [...came(30_000, first), ...came(10_000, second), ...came(0, third)];
    expect(listScorers(pending)).toEqual([['a', 'b', 'c']]);
    expect(listScorers(pending, { nowMs: PLANNED_AT - 1 })).toEqual([]);
  });

  it('wait no longer when the clock of the store went back by an hour since they came', () => {
    expect(listScorers(came(-3_600_000, deployed('a'), deployed('b')))).toEqual([['a', 'b']]);
  });

  it('that come later than the wait get a message of their own', () => {
    expect(listScorers([...came(61_000, deployed('a')), ...came(30_500, deployed('b'))])).toEqual([
      ['a'],
      ['b'],
    ]);
  });

  it.each([
    ['version', { serviceVersion: '1.2.4' }],
    ['version of the agent', { agentVersion: '2' }],
    ['agent', { series: { ...deployed('b').series, agent: 'another' } }],
    ['environment', { series: { ...deployed('b').series, environment: 'staging' } }],
    ['tenant', { series: { ...deployed('b').series, tenant: 'another' } }],
  ])('are none when the %s is another', (_what, more) => {
    const other = anAlert({ ...deployed('b'), ...more, id: 'other' });
    expect(listScorers(came(30_000, deployed('a'), other))).toEqual([['a'], ['b']]);
  });

  it('are those of one version of an agent, too', () => {
    const ofAgent = { serviceVersion: '', agentVersion: '2' };
    expect(listScorers(came(30_000, deployed('a', ofAgent), deployed('b', ofAgent)))).toEqual([['a', 'b']]);
  });

  it('begin together and end together, never both in one message', () => {
    const events = [deployed('a'), deployed('b')];
    const { messages } = planMessages(
      came(30_000, ...events, ...events.map((event) => resolvedEvent(event))),
      terms,
    );
    expect(messages.map((message) => message.events.map(({ status }) => status))).toEqual([
      ['firing', 'firing'],
      ['resolved', 'resolved'],
    ]);
  });

  it('are split into as many messages as they need', () => {
    const events = Array.from({ length: 5 }, (_, index) => deployed(`s${index}`));
    expect(listScorers(came(30_000, ...events), { maxEvents: 2 }).map((each) => each.length)).toEqual([
      2, 2, 1,
    ]);
  });
});

describe('alerts of one agent without a known version', () => {
  const bare = (scorer: string, more: Partial<AlertEvent> = {}) =>
    alertOfScorer(scorer, { serviceVersion: '', agentVersion: '', ...more });

  it('go out together, apart from those of another agent', () => {
    const other = anAlert({ ...bare('b'), series: { ...bare('b').series, agent: 'another' }, id: 'other' });
    expect(listScorers(came(30_000, bare('a'), bare('c'), other))).toEqual([['a', 'c'], ['b']]);
  });

  it('go out together for all agents when scorers fail: one judge fails them', () => {
    const failing = (agent: string) =>
      anAlert({ detector: 'scorer_errors', series: { ...bare(agent).series, agent }, id: agent });
    expect(listScorers(came(30_000, failing('x'), failing('y')))).toHaveLength(1);
  });
});

describe('an alert that has no mates', () => {
  it('of a budget is planned at once, under its own id', () => {
    const event = budgetAlert(80, 4);
    const { messages } = planMessages(came(0, event), terms);
    expect(messages).toEqual([{ id: event.id, events: [event], plannedAtMs: PLANNED_AT, round: 0 }]);
  });

  it('is every one where the receiver groups by itself', () => {
    expect(listScorers(came(0, deployed('a'), deployed('b')), { maxEvents: 1 })).toHaveLength(2);
  });
});

it('an end waits while its beginning waits for others', () => {
  const event = deployed('a');
  const { serviceVersion: _, ...rest } = resolvedEvent(event);
  const end = { ...rest, serviceVersion: '' };
  expect(listScorers([...came(1_000, event), ...came(0, end)])).toEqual([]);
  expect(listScorers([...came(60_000, event), ...came(30_000, end)])).toEqual([['a'], ['a']]);
});

it('a message under way is what it was, its own event first', () => {
  const [first, second, third] = [deployed('a'), deployed('b'), deployed('c')];
  const { messages } = planMessages([...came(30_000, second), ...came(9_000, third, first)], terms);
  const planned = messages.flatMap(({ id, events, plannedAtMs, round }) =>
    events.map((event) => ({ event, writtenAtMs: 0, plan: { messageId: id, plannedAtMs, round } })),
  );
  expect(messages[0]?.id).toBe(second.id);
  expect(listUnfinishedMessages([...planned].reverse())).toEqual(messages);
  expect(planMessages(planned, terms).messages).toEqual([]);
});

describe('what is muted', () => {
  const event = alertOfScorer('a');
  const active = [{ tenant: ALL_TENANTS, subject: event.alert, untilMs: PLANNED_AT + 1 }];

  it('waits, and is planned when the mute ends before the incident', () => {
    expect(planMessages(came(0, event), { ...terms, mutes: active })).toEqual({ messages: [], muted: [] });
    expect(listScorers(came(30_000, event), { mutes: active, nowMs: PLANNED_AT + 1 })).toEqual([['a']]);
  });

  it('is never planned when the incident ended before the mute, even when both are read after it', () => {
    const end = resolvedEvent(event);
    const until = (untilMs: number) => [{ tenant: ALL_TENANTS, subject: event.incidentId, untilMs }];
    const endsAtMs = end.endsAtMs ?? 0;
    const later = { ...terms, nowMs: endsAtMs + 3_600_000 };
    expect(planMessages(came(0, event, end), { ...later, mutes: until(endsAtMs + 1) })).toEqual({
      messages: [],
      muted: [event, end],
    });
    const { messages, muted } = planMessages(came(0, event, end), { ...later, mutes: until(endsAtMs) });
    expect(messages.flatMap(({ events }) => events.map(({ status }) => status)).toSorted()).toEqual([
      'firing',
      'resolved',
    ]);
    expect(muted).toEqual([]);
  });

  it('is never planned when the incident ends before the mute', () => {
    const end = resolvedEvent(event);
    expect(planMessages(came(0, event, end), { ...terms, mutes: active })).toEqual({
      messages: [],
      muted: [event, end],
    });
  });

  it('does not cover the end of an incident whose beginning was sent', () => {
    expect(listScorers(came(30_000, resolvedEvent(event)), { mutes: active })).toEqual([['a']]);
  });
});

describe('an alert about the scores of a judge', () => {
  const judged = (who: 'deciding' | 'agent' | 'judge', more: Partial<AlertEvent> = {}) =>
    anAlert({ culprit: { who, judge: null, decideByMs: PLANNED_AT }, ...more });
  const plan = (events: readonly AlertEvent[], more: Partial<PlanTerms> = {}) => {
    const { messages, muted } = planMessages(came(60_000, ...events), { ...terms, ...more });
    const statuses = messages.flatMap((message) => message.events.map(({ status }) => status));
    return { sent: statuses.toSorted(), muted };
  };

  it('waits until it is known who changed, with the end of its incident, and five minutes past the wait at most', () => {
    const event = judged('deciding');
    const both = [event, resolvedEvent(event)];
    expect(plan(both)).toEqual({ sent: [], muted: [] });
    expect(plan(both, { nowMs: PLANNED_AT + 299_999 }).sent).toEqual([]);
    expect(plan(both, { nowMs: PLANNED_AT + 300_000 }).sent).toEqual(['firing', 'resolved']);
  });

  it('is sent once the agent is the cause', () => {
    expect(plan([judged('agent')]).sent).toEqual(['firing']);
  });

  it('is never sent while it is held, and is done with when its incident has ended', () => {
    const event = judged('judge', { held: true });
    const both = [event, resolvedEvent(event)];
    expect(plan([event])).toEqual({ sent: [], muted: [] });
    expect(plan(both)).toEqual({ sent: [], muted: both });
  });

  it.each([
    [false, []],
    [true, ['firing']],
  ])('about the judge itself is sent where the configuration says so: %s', (sendsJudgeDrift, expected) => {
    const event = anAlert({ alert: 'JudgeDrift', detector: 'judge' });
    expect(plan([event], { sendsJudgeDrift }).sent).toEqual(expected);
  });
});
