import { expect, describe, it } from 'vitest';
import { startBudgetAlerts } from '../../../../src/scoring/budget/budget-alerts.ts';
import type { CapState } from '../../../../src/scoring/budget/budget-watch.ts';
import { DAY_MS } from '../../../../src/domain/durations.ts';
import type { BudgetScope } from '../../../../src/domain/money/budget.ts';
import type { AlertEvent } from '../../../../src/monitors/alert-event.ts';
import type { SpentCap } from '../../../../src/scoring/budget/budget-request.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { until } from '../../../support/until.ts';

const NOON_MS = Date.UTC(2026, 10, 23, 12);
const MIDNIGHT_MS = Date.UTC(2026, 10, 24);
const RULE: BudgetScope = { kind: 'rule', name: 'production' };

/** Alerts and budgets of one store. Each process on it checks when the test says so. */
class BudgetStore {
  nowMs = NOON_MS;
  caps: CapState[] = [];
  spent: SpentCap[] = [];
  /** Stored events by id, in the order of the writes. */
  readonly events = new Map<string, AlertEvent>();
  /** Number of writes of an event that was stored before. */
  repeats = 0;
  /** `lost`: the event is stored, and its writer is killed before it knows. */
  outcome: 'stored' | 'lost' | 'refused' = 'stored';

  readonly alerts = {
    open: async () => {
      const all = [...this.events.values()];
      const ended = new Set(all.filter((each) => each.status === 'resolved').map((each) => each.incidentId));
      return all.filter((each) => each.status === 'firing' && !ended.has(each.incidentId));
    },
    known: async (ids: readonly string[]) => new Set(ids.filter((id) => this.events.has(id))),
    write: async (events: readonly AlertEvent[]) => {
      if (this.outcome !== 'refused') {
        this.repeats += events.filter(({ id }) => this.events.has(id)).length;
        events.forEach((event) => this.events.set(event.id, event));
      }
      if (this.outcome !== 'stored') {
        throw new Error('the connection ended');
      }
    },
  };

  spend(spentUsd: number, cap: Partial<CapState> = {}): void {
    const { nowMs } = this;
    const renewsAtMs = Math.floor(nowMs / DAY_MS) * DAY_MS + DAY_MS;
    this.caps = [{ scope: RULE, period: 'day', capUsd: 10, reservedUsd: 0, renewsAtMs, ...cap, spentUsd }];
  }

  /** Starts a process, which has the duty from now on. Returns its check of all caps. */
  startProcess(percents: readonly number[] = [50, 80, 100]): () => Promise<void> {
    const turns: (() => void)[] = [];
    let checks = 0;
    const readEpoch = async () => {
      checks += 1;
      return 1;
    };
    startBudgetAlerts(
      () => percents,
      {
        alerts: this.alerts,
        readCaps: async () => ({ nowMs: this.nowMs, caps: this.caps }),
        listSpent: () => this.spent,
      },
      {
        duties: { join: () => undefined, readEpoch, leave: async () => undefined },
        log: silentLog,
        timers: { sleep: () => new Promise((resolve) => turns.push(resolve)) },
      },
    );
    return async () => {
      await until(() => turns.length > 0);
      turns.shift()?.();
      const before = checks;
      await until(() => checks > before && turns.length > 0);
    };
  }

  /** Lists the stored events for a short comparison. */
  listed(): string[] {
    return [...this.events.values()].map(({ status, budget }) => `${status} ${budget?.percent}`);
  }
}

describe('alerts of a budget', () => {
  it('begin once at each percentage, and end when the budget renews', async () => {
    const store = new BudgetStore();
    const check = store.startProcess();
    for (const usd of [4.9, 5, 5.1, 8.2, 9.2, 9.95, 10]) {
      store.spend(usd);
      await check();
    }
    expect(store.listed()).toEqual(['firing 50', 'firing 80', 'firing 100']);

    store.nowMs = MIDNIGHT_MS + 5_000;
    store.spend(0);
    await check();
    expect(store.listed().slice(3)).toEqual(['resolved 50', 'resolved 80', 'resolved 100']);
    expect([...store.events.values()].at(-1)).toMatchObject({ endsAtMs: MIDNIGHT_MS });

    store.spend(6);
    await check();
    expect(store.listed().slice(6)).toEqual(['firing 50']);
    expect(store.repeats).toBe(0);
  });

  it('begin at a percentage that is exactly reached, whatever floating point makes of it', async () => {
    const store = new BudgetStore();
    store.spend(0.29, { capUsd: 1 });
    await store.startProcess([29])();
    expect(store.listed()).toEqual(['firing 29']);
  });

  it('begin at the highest percentage alone when others were jumped over, also in the next process', async () => {
    const store = new BudgetStore();
    store.spend(4);
    await store.startProcess()();
    store.spend(10);
    await store.startProcess()();
    store.spend(8.5);
    await store.startProcess()();
    expect(store.listed()).toEqual(['firing 100']);
  });

  it('begin at 100 when the rest pays for no call of this process', async () => {
    const store = new BudgetStore();
    const check = store.startProcess();
    store.spend(8.5);
    store.spent = [{ cap: store.caps[0]!, renewsAtMs: MIDNIGHT_MS }];
    await check();
    expect(store.listed()).toEqual(['firing 100']);
  });

  it.each(['lost', 'refused'] as const)('are written once when a write is %s', async (outcome) => {
    const store = new BudgetStore();
    store.outcome = outcome;
    store.spend(6);
    const check = store.startProcess();
    await check();
    store.outcome = 'stored';
    await check();
    await store.startProcess()();
    expect(store.listed()).toEqual(['firing 50']);
    expect(store.repeats).toBe(0);
  });

  it('end when the cap changes, and begin again under the new cap', async () => {
    const store = new BudgetStore();
    store.spend(6);
    await store.startProcess()();
    store.spend(6, { capUsd: 7 });
    await store.startProcess()();
    expect(store.listed()).toEqual(['firing 50', 'resolved 50', 'firing 80']);
  });

  it('end when no percentages and no budgets are configured any more', async () => {
    const store = new BudgetStore();
    store.spend(6);
    await store.startProcess()();
    store.caps = [];
    const check = store.startProcess([]);
    await check();
    await check();
    expect(store.listed()).toEqual(['firing 50', 'resolved 50']);
  });

  it('name the tenant as the tenant of the alert, so that mutes and tokens of the tenant apply', async () => {
    const store = new BudgetStore();
    store.spend(5, { scope: { kind: 'tenant', name: 'a' }, period: 'month' });
    await store.startProcess()();
    expect([...store.events.values()]).toMatchObject([
      {
        alert: 'BudgetSpent',
        series: { tenant: 'a' },
        labels: { severity: 'info', budget: 'tenant a', budget_period: 'month', budget_percent: '50' },
      },
    ]);
  });
});
