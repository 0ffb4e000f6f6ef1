import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/domain/errors.ts';
import { createBudget, type Budget } from '../../../../src/scoring/budget/budget.ts';
import type { JudgeCallStore } from '../../../../src/store/tables/judge-calls.ts';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import { testStore, type TestStore } from '../../../support/store/store-rows.ts';

const DAY_MS = 86_400_000;
const DAY_START_MS = Date.UTC(2026, 10, 21);
const NOON_MS = DAY_START_MS + DAY_MS / 2;
const CAP_USD = 1;

/** Short waits, so that a test needs no minutes. */
const TERMS = { recheckMs: 50, idleMs: 50, maxWaitMs: 60_000, writeDelayMs: 100 };

let world: TestStore;
let rule: string;
let rules = 0;

beforeAll(async () => {
  world = await testStore();
});
afterAll(() => world.stop());
beforeEach(() => {
  rules += 1;
  rule = `rule-${rules}`;
});

function buildAsk(usd: number, { capUsd = CAP_USD, nowMs = NOON_MS, tenant = '' } = {}) {
  return {
    rule,
    caps: { perDay: capUsd },
    tenant,
    scoreId: 's',
    model: 'local/judge',
    usd,
    nowMs: () => nowMs,
  };
}

function readDay(dayMs = DAY_START_MS, openSinceMs = 0) {
  const range = { fromMs: dayMs, toMs: dayMs + DAY_MS, openSinceMs };
  return world.store.judgeCalls.readSpending({ kind: 'rule', name: rule }, range);
}

/** Spends the rest of the budget with small calls, one after the other. Returns the sum of their costs. */
async function spendRest(budget: Budget, capUsd: number): Promise<number> {
  const usd = 0.02;
  let spentUsd = 0;
  for (;;) {
    const reservation = await budget.reserve(buildAsk(usd, { capUsd })).catch((error: unknown) => {
      if (error instanceof AppError && error.details['notBeforeMs'] === DAY_START_MS + DAY_MS) {
        return undefined;
      }
      throw error;
    });
    if (reservation === undefined) {
      return spentUsd;
    }
    reservation.settle(0.8 * usd);
    spentUsd += 0.8 * usd;
  }
}

/** Fails the next insert: it is done `after` its client got the error, or before. */
function loseInsert(store: JudgeCallStore) {
  let isLost = false;
  let finish = async (): Promise<void> => undefined;
  const lossy: Pick<JudgeCallStore, 'readSpending' | 'spend'> = {
    readSpending: (...query) => store.readSpending(...query),
    async spend(entries) {
      if (isLost) {
        await store.spend(entries);
        return;
      }
      isLost = true;
      finish = () => store.spend(entries);
      throw new Error('the store did not answer in time');
    },
  };
  return { lossy, finish: () => finish() };
}

describe('three processes at full speed on one store', () => {
  it.each([
    ['a fifth of', 0.2, 0.015],
    ['at most', 1, 0.004],
    ['four times', 4, 0.004],
  ])(
    'spend a budget up to its last 3 percent, but no more, when calls cost %s their estimate',
    async (_cost, ratio, meanUsd) => {
      const budgets = Array.from({ length: 3 }, () => createBudget(world.store.judgeCalls, {}, TERMS));
      let spentUsd = 0;
      const work = async (budget: Budget, tenant: string) => {
        for (;;) {
          const usd = meanUsd * (0.5 + Math.random());
          const reservation = await budget.reserve(buildAsk(usd, { tenant })).catch(() => undefined);
          if (reservation === undefined) {
            return;
          }
          await sleep(5 * Math.random());
          const costUsd = usd * ratio * (0.8 + 0.2 * Math.random());
          spentUsd += costUsd;
          reservation.settle(costUsd);
        }
      };
      const workers = budgets.flatMap((budget, n) =>
        Array.from({ length: 16 }, () => work(budget, `tenant-${n}`)),
      );
      await Promise.all(workers);
      await Promise.all(budgets.map((budget) => budget.giveBack()));

      expect(spentUsd).toBeLessThanOrEqual(CAP_USD + 1e-9);
      expect(spentUsd).toBeGreaterThanOrEqual(0.97 * CAP_USD);
      expect(await readDay()).toEqual({
        bookedUsd: expect.closeTo(spentUsd),
        reservedUsd: expect.closeTo(0),
      });
      const tenants = await queryRows<{ usd: number }>(
        world.options,
        `SELECT sum(CostUsd) AS usd FROM spend WHERE Rule = '${rule}' AND Kind = 'call' GROUP BY Tenant`,
      );
      expect(tenants).toHaveLength(3);
      expect(tenants.reduce((sum, { usd }) => sum + usd, 0)).toBeCloseTo(spentUsd);
    },
  );
});

describe('the budget of a fleet', () => {
  it('counts the block of a killed process as spent', async () => {
    const killed = createBudget(world.store.judgeCalls, {}, { ...TERMS, idleMs: 3_600_000 });
    await killed.reserve(buildAsk(0.004));
    expect(await readDay()).toEqual({ bookedUsd: 0.01, reservedUsd: 0.01 });

    const laterMs = NOON_MS + 11 * 60_000;
    expect(await readDay(DAY_START_MS, laterMs)).toEqual({ bookedUsd: 0.01, reservedUsd: 0 });
    const other = createBudget(world.store.judgeCalls, {}, TERMS);
    (await other.reserve(buildAsk(0.95, { nowMs: laterMs }))).settle(0.95);
    await expect(other.reserve(buildAsk(0.045, { nowMs: laterMs }))).rejects.toMatchObject({
      code: 'budget_exhausted',
      details: { notBeforeMs: DAY_START_MS + DAY_MS },
    });
  });

  it('gets the money of an idle process back, and no call waits for the next day meanwhile', async () => {
    const idle = createBudget(world.store.judgeCalls, {}, TERMS);
    (await idle.reserve(buildAsk(0.001))).settle(0.001);
    const busy = createBudget(world.store.judgeCalls, {}, TERMS);
    await expect(busy.reserve(buildAsk(0.998))).resolves.toBeDefined();
  });

  it('books a call that is under way at midnight on the day on which it began', async () => {
    const clock = { nowMs: DAY_START_MS + DAY_MS - 5 };
    const ask = { ...buildAsk(0.35), nowMs: () => clock.nowMs };
    const budgets = Array.from({ length: 3 }, () => createBudget(world.store.judgeCalls, {}, TERMS));
    for (const budget of budgets) {
      (await budget.reserve({ ...ask, usd: 0.01 })).settle(0.01);
      await budget.giveBack();
    }
    const [first, second, third] = budgets as [Budget, Budget, Budget];
    const [late, later] = await Promise.all([first.reserve(ask), second.reserve(ask)]);
    const waiting = third.reserve({ ...ask, usd: 0.4 });
    clock.nowMs += 10;
    (await first.reserve(ask)).settle(0.25);
    (await waiting).settle(0.125);
    late.settle(0.3);
    later.settle(0.5);
    await Promise.all(budgets.map((budget) => budget.giveBack()));

    expect(await readDay()).toEqual({ bookedUsd: expect.closeTo(0.83), reservedUsd: expect.closeTo(0) });
    expect(await readDay(DAY_START_MS + DAY_MS)).toEqual({
      bookedUsd: expect.closeTo(0.375),
      reservedUsd: expect.closeTo(0),
    });
  });

  it.each([
    ['before the answer was lost', true],
    ['after its withdrawal', false],
  ])('counts a lease once whose insert seemed to fail, but happened %s', async (_when, isBefore) => {
    const { lossy, finish } = loseInsert(world.store.judgeCalls);
    const budget = createBudget(lossy, {}, TERMS);
    await expect(budget.reserve(buildAsk(0.5))).rejects.toThrow('the store did not answer in time');
    await (isBefore ? finish() : undefined);
    await budget.giveBack();
    await (isBefore ? undefined : finish());
    expect(await readDay()).toEqual({ bookedUsd: expect.closeTo(0), reservedUsd: expect.closeTo(0) });
    await expect(budget.reserve(buildAsk(CAP_USD))).resolves.toBeDefined();
  });

  it('allows nothing above a budget that a rolling deploy lowers, beside what the former processes spend', async () => {
    const former = createBudget(world.store.judgeCalls, {}, TERMS);
    (await former.reserve(buildAsk(0.3))).settle(0.3);
    const next = createBudget(world.store.judgeCalls, {}, TERMS);
    const nextUsd = await spendRest(next, 0.4);
    expect(nextUsd).toBeLessThanOrEqual(0.1);
    expect(nextUsd).toBeGreaterThan(0.07);
    (await former.reserve(buildAsk(0.05))).settle(0.05);
    await former.giveBack();
    expect(await spendRest(next, 0.4)).toBe(0);
    await next.giveBack();
    expect((await readDay()).bookedUsd).toBeCloseTo(0.35 + nextUsd);
  });
});
