import { expect, it } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/domain/durations.ts';
import type { IssueRow } from '../../../src/domain/failure.ts';
import { StateDecisions, type StateStores } from '../../../src/issues/decide-states.ts';
import type { IssueQuery } from '../../../src/store/contracts/issues.ts';
import { buildFailure, buildIssueRow } from '../../support/builders/a-failure.ts';

const NOW_MS = Date.UTC(2026, 0, 20);
const TERMS = { falseAlarmBudget: 1, alertAbove: null };

/** Ten days of one agent, of whose 40 runs an hour one fails. */
function world() {
  const failure = buildFailure({ tenant: 'a', agent: 'shop', signatureId: 'i', failureId: 'i' });
  const [first, last] = [NOW_MS - 10 * DAY_MS, NOW_MS - HOUR_MS];
  let issue: IssueRow = buildIssueRow(failure, { issueId: 'i', state: 'open', firstSeen: first });
  const failing = new Map<number, number>();
  for (let hourMs = first; hourMs <= last; hourMs += HOUR_MS) {
    failing.set(hourMs, 1);
  }
  let changedMs: number | null = null;
  let isAway = false;
  const hours = ({ sinceMs }: IssueQuery) => [...failing].filter(([hourMs]) => hourMs >= sinceMs);
  const facts = { tenant: 'a', agent: 'shop', issueId: 'i', version: '1' };
  const failures = {
    firstChanged: async () => {
      const found = changedMs;
      changedMs = null;
      return found;
    },
    failingHours: async (query: IssueQuery) =>
      hours(query).map(([hourMs, count]) => ({ ...facts, hourMs, weights: [1], counts: [count] })),
    runHours: async (query: IssueQuery) =>
      hours(query).map(([hourMs]) => ({ ...facts, hourMs, runs: 40, firstMs: hourMs })),
    issues: async () => {
      if (isAway) {
        throw new Error('the store is away');
      }
      return [issue];
    },
    decide: async (_before: IssueRow, next: IssueRow) => {
      issue = next;
    },
  };
  const alerts = { open: async () => [], known: async () => new Set(), write: async () => undefined };
  const store = { failures, alerts, spans: { nowMs: async () => NOW_MS } } as unknown as StateStores;
  return {
    store,
    state: () => issue.state,
    /** Stores late runs, of which many fail. */
    addLateFailures: () => {
      changedMs = NOW_MS - DAY_MS;
      for (let hourMs = changedMs; hourMs <= last - HOUR_MS; hourMs += HOUR_MS) {
        failing.set(hourMs, 10);
      }
    },
    setAway: (value: boolean) => (isAway = value),
  };
}

it('an issue escalates by runs that came late, also when the store failed after they were read', async () => {
  const { store, state, addLateFailures, setAway } = world();
  const decisions = new StateDecisions(store);
  await decisions.decide(TERMS);
  expect(state()).toBe('open');

  addLateFailures();
  setAway(true);
  await expect(decisions.decide(TERMS)).rejects.toThrow('the store is away');
  setAway(false);
  await decisions.decide(TERMS);

  expect(state()).toBe('escalating');
});
