import { describe, expect, it } from 'vitest';
import {
  listUnfinishedMessages,
  planMessages,
  type PlanTerms,
} from '../../../src/delivery/deliver-alerts.ts';
import type { AlertEvent } from '../../../src/monitors/alert-event.ts';
import { ALL_TENANTS } from '../../../src/monitors/mute.ts';
import type { PendingAlert } from '../../../src/store/contracts/alert-deliveries.ts';
import { alertOfScorer, anAlert, budgetAlert, resolvedEvent } from '../../support/builders/an-alert.ts';

const NOW = 1_000_000;
const terms: PlanTerms = { maxEvents: 50, groupWaitMs: 30_000, mutes: [], nowMs: NOW };
const deployed = (scorer: string, more: Partial<AlertEvent> = {}) =>
  alertOfScorer(scorer, { serviceVersion: '1.2.3', ...more });

/** Events that came so many milliseconds ago. */
function came(agoMs: number, ...events: AlertEvent[]): PendingAlert[] {
  return events.map((event) => ({ event, writtenAtMs: NOW - agoMs, plan: null }));
}

function listScorers(pending: readonly PendingAlert[], more: Partial<PlanTerms> = {}): string[][] {
  return planMessages(pending, { ...terms, ...more }).messages.map(({ events }) =>
    events.map(({ series }) => series.scorer).sort(),
  );
}

describe('alerts of one deploy', () => {
  it('go out together once the first has waited for the others', () => {
    const [a, b, c] = [deployed('a'), deployed('b'), deployed('c')];
    const pending = [...came(30_000, a), ...came(10_000, b), ...came(0, c)];
    expect(listScorers(pending)).toEqual([['a', 'b', 'c']]);
    expect(listScorers(pending, { nowMs: NOW - 1 })).toEqual([]);
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
    expect(messages).toEqual([{ id: event.id, events: [event], plannedAtMs: NOW, round: 0 }]);
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
  const [a, b, c] = [deployed('a'), deployed('b'), deployed('c')];
  const { messages } = planMessages([...came(30_000, b), ...came(9_000, c, a)], terms);
  const planned = messages.flatMap(({ id, events, plannedAtMs, round }) =>
    events.map((event) => ({ event, writtenAtMs: 0, plan: { messageId: id, plannedAtMs, round } })),
  );
  expect(messages[0]?.id).toBe(b.id);
  expect(listUnfinishedMessages([...planned].reverse())).toEqual(messages);
  expect(planMessages(planned, terms).messages).toEqual([]);
});

describe('what is muted', () => {
  const event = alertOfScorer('a');
  const mutes = [{ tenant: ALL_TENANTS, subject: event.alert, untilMs: NOW + 1 }];

  it('waits, and is planned when the mute ends before the incident', () => {
    expect(planMessages(came(0, event), { ...terms, mutes })).toEqual({ messages: [], muted: [] });
    expect(listScorers(came(30_000, event), { mutes, nowMs: NOW + 1 })).toEqual([['a']]);
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
    expect(planMessages(came(0, event, end), { ...terms, mutes })).toEqual({
      messages: [],
      muted: [event, end],
    });
  });

  it('does not cover the end of an incident whose beginning was sent', () => {
    expect(listScorers(came(30_000, resolvedEvent(event)), { mutes })).toEqual([['a']]);
  });
});
