import { setImmediate as pause, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { createBudget, type Budget } from '../../../src/scoring/budget/budget.ts';
import { spendLedger, type SpendLedger } from '../../support/store/spend-ledger.ts';
import type { SharedBudgets } from '../../../src/domain/money/budget.ts';
import { createBudgetReader, type BudgetRequest } from '../../../src/scoring/budget/budget-request.ts';
import type { PriceTable } from '../../../src/domain/money/model-prices.ts';
import { createJudgeRegistry } from '../../../src/judge/judge-registry.ts';
import { askForText, type JudgeModel } from '../../../src/judge/judge.ts';
import type { Rule } from '../../../src/scoring/select/rule.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import { modelObject } from '../../support/builders/model-object.ts';
import {
  agentSpan,
  CountingScorer,
  buildLiveMode,
  newTraceId,
  createTestScoring,
  buildRule,
} from '../../support/scoring/scoring-world.ts';

describe('budgets of rules', () => {
  const DAY_MS = 86_400_000;
  const DAY_START_MS = Date.UTC(2026, 10, 21);
  const NOON_MS = DAY_START_MS + DAY_MS / 2;

  function buildAsk(usd: number, { capUsd = 1, nowMs = NOON_MS } = {}) {
    return {
      rule: 'r',
      caps: { perDay: capUsd },
      tenant: 't',
      scoreId: 's',
      model: 'openai/gpt-5',
      usd,
      nowMs: () => nowMs,
    };
  }

  async function readRefusal(budget: Budget, ask: Parameters<Budget['reserve']>[0]): Promise<AppError> {
    const error = await budget.reserve(ask).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    return error as AppError;
  }

  function readDay(ledger: SpendLedger, dayMs = DAY_START_MS) {
    return ledger.readSpending(
      { kind: 'rule', name: 'r' },
      { fromMs: dayMs, toMs: dayMs + DAY_MS, openSinceMs: 0 },
    );
  }

  /** Makes one call, so that the cost of calls to the model is known to be as estimated. */
  async function makeFirstCall(budget: Budget, usd = 0.01): Promise<void> {
    (await budget.reserve(buildAsk(usd))).settle(undefined);
  }

  describe('money reserved for a judge call', () => {
    it.each([
      ['in the middle of a day', NOON_MS],
      ['in the first millisecond of a day', DAY_START_MS],
      ['in the last millisecond of a day', DAY_START_MS + DAY_MS - 1],
    ])('is booked in full on its day when the call cost twice as much, %s', async (_when, nowMs) => {
      const ledger = spendLedger();
      const budget = createBudget(ledger);

      const reservation = await budget.reserve(buildAsk(0.1, { nowMs }));
      expect(await readDay(ledger)).toEqual({ bookedUsd: 0.1, reservedUsd: 0.1 });
      reservation.settle(0.2);
      await budget.giveBack();

      expect(await readDay(ledger)).toEqual({
        bookedUsd: expect.closeTo(0.2),
        reservedUsd: expect.closeTo(0),
      });
      expect(await readDay(ledger, DAY_START_MS + DAY_MS)).toEqual({ bookedUsd: 0, reservedUsd: 0 });
    });

    it('costs nothing when no call was made', async () => {
      const ledger = spendLedger();
      const budget = createBudget(ledger);
      (await budget.reserve(buildAsk(0.1))).settle(0);
      await budget.giveBack();
      expect((await readDay(ledger)).bookedUsd).toBe(0);
    });

    it('is booked under the tenant of the score', async () => {
      const ledger = spendLedger();
      const budget = createBudget(ledger);
      (await budget.reserve({ ...buildAsk(0.1), tenant: 'a', scoreId: 'first' })).settle(0.05);
      (await budget.reserve({ ...buildAsk(0.1), tenant: 'b', scoreId: 'second' })).settle(0.08);
      await budget.giveBack();
      const calls = ledger.entries().filter(({ kind }) => kind === 'call');
      expect(calls).toMatchObject([
        { tenant: 'a', scoreId: 'first', costUsd: 0.05 },
        { tenant: 'b', scoreId: 'second', costUsd: 0.08 },
      ]);
    });

    it('is refused until the next day when the budget is below one call, with the spent and the reserved money and the budget', async () => {
      const ledger = spendLedger();
      const budget = createBudget(ledger);
      const refusal = await readRefusal(budget, buildAsk(0.0031, { capUsd: 0.0001 }));

      expect(refusal.message).toBe(
        "a call to openai/gpt-5 is estimated at 0.0031 USD; of rule r's budget of 0.0001 USD a UTC day, 0 USD are spent and 0 USD reserved by running processes",
      );
      expect(refusal).toMatchObject({
        code: 'budget_exhausted',
        retryAfterMs: DAY_MS / 2,
        details: { notBeforeMs: DAY_START_MS + DAY_MS },
      });
      expect((await readDay(ledger)).bookedUsd).toBe(0);
    });

    it('waits for calls under way that may give money back, and is reserved as soon as they do', async () => {
      const budget = createBudget(spendLedger(), {}, { recheckMs: 3_600_000 });
      const first = await budget.reserve(buildAsk(0.8));
      let isThrough = false;
      const second = budget.reserve(buildAsk(0.8)).then((reservation) => {
        isThrough = true;
        return reservation;
      });
      await pause();
      expect(isThrough).toBe(false);
      first.settle(0.1);
      await second;
      expect(budget.findRest(buildAsk(0.8), NOON_MS)).toEqual({
        restUsd: expect.closeTo(0.9),
        spent: undefined,
      });
      expect(budget.listSpent(NOON_MS)).toEqual([]);
    });

    it('tries again soon, not tomorrow, when the calls under way take long', async () => {
      const clock = { nowMs: NOON_MS };
      const budget = createBudget(spendLedger(), {}, { recheckMs: 1, maxWaitMs: 30_000 });
      await makeFirstCall(budget);
      await budget.reserve(buildAsk(0.8));
      const waiting = readRefusal(budget, { ...buildAsk(0.8), nowMs: () => (clock.nowMs += 1_000) });
      expect(await waiting).toMatchObject({ retryAfterMs: 30_000, details: { scope: 'rule', name: 'r' } });
      expect((await waiting).message).toContain('0.01 USD are spent and 0.8 USD reserved');
    });

    it('is waited for once behind the lease of a killed process, not by one request after the other', async () => {
      const ledger = spendLedger();
      await createBudget(ledger).reserve(buildAsk(0.9));
      const clock = { nowMs: NOON_MS };
      const nowMs = () => clock.nowMs;
      const budget = createBudget(ledger, {}, { recheckMs: 1, maxWaitMs: 30_000 });
      const first = readRefusal(budget, { ...buildAsk(0.2), nowMs });
      clock.nowMs += 30_000;
      expect(await first).toMatchObject({ retryAfterMs: 30_000 });
      for (let n = 0; n < 3; n += 1) {
        clock.nowMs += 1_000;
        expect(await readRefusal(budget, { ...buildAsk(0.2), nowMs })).toMatchObject({
          retryAfterMs: 30_000,
        });
      }

      (await budget.reserve({ ...buildAsk(0.05), nowMs })).settle(0);
      let isRefused = false;
      const later = readRefusal(budget, { ...buildAsk(0.2), nowMs }).then(() => (isRefused = true));
      await sleep(20);
      expect(isRefused).toBe(false);
      clock.nowMs += 30_000;
      await later;
    });

    it('stays spent when a dead process never settled it, with the rest of its block', async () => {
      const ledger = spendLedger();
      const dead = createBudget(ledger);
      await makeFirstCall(dead, 0.001);
      await dead.reserve(buildAsk(0.004));
      const refusal = await readRefusal(
        createBudget(ledger),
        buildAsk(0.995, { nowMs: NOON_MS + 11 * 60_000 }),
      );
      expect(refusal.details).toMatchObject({ notBeforeMs: DAY_START_MS + DAY_MS });
      expect(refusal.message).toContain('0.01 USD are spent and 0 USD reserved');
    });

    it('is available again on the next day', async () => {
      const budget = createBudget(spendLedger());
      (await budget.reserve(buildAsk(1))).settle(1);
      await readRefusal(budget, buildAsk(0.5));
      await expect(budget.reserve(buildAsk(0.5, { nowMs: NOON_MS + DAY_MS }))).resolves.toBeDefined();
    });

    it('is refused while the store is away, and a cost is written when it is back', async () => {
      const ledger = spendLedger();
      const budget = createBudget(ledger);
      const reservation = await budget.reserve(buildAsk(0.5));
      ledger.fault = 'away';
      reservation.settle(0.1);
      await budget.giveBack();
      await expect(budget.reserve(buildAsk(0.1))).rejects.toThrow('the store is away');
      ledger.fault = 'none';
      (await budget.reserve(buildAsk(0.1))).settle(0.1);
      await budget.giveBack();
      expect(await readDay(ledger)).toEqual({
        bookedUsd: expect.closeTo(0.2),
        reservedUsd: expect.closeTo(0),
      });
    });

    it('is booked once when the store wrote it, but answered too late', async () => {
      const ledger = spendLedger();
      const budget = createBudget(ledger);
      const reservation = await budget.reserve(buildAsk(0.5));
      ledger.fault = 'lost';
      reservation.settle(0.1);
      await budget.giveBack();
      await expect(budget.reserve(buildAsk(0.3))).rejects.toThrow('the store did not answer in time');
      ledger.fault = 'none';
      await budget.giveBack();
      expect(await readDay(ledger)).toEqual({
        bookedUsd: expect.closeTo(0.1),
        reservedUsd: expect.closeTo(0),
      });
    });
  });

  describe('a block of a budget', () => {
    it('pays for many calls: one lease and one write of costs for 16 calls, each within 1 % of the budget', async () => {
      const ledger = spendLedger();
      const budget = createBudget(ledger, {}, { writeDelayMs: 3_600_000 });
      for (let call = 0; call < 16; call += 1) {
        (await budget.reserve(buildAsk(0.0005))).settle(0.0005);
      }
      expect(ledger.statements).toBe(2);
      await budget.giveBack();
      expect(ledger.statements).toBe(3);
      expect(await readDay(ledger)).toEqual({
        bookedUsd: expect.closeTo(0.008),
        reservedUsd: expect.closeTo(0),
      });
      expect(Math.max(...ledger.entries().map(({ costUsd }) => costUsd))).toBe(0.01);
    });

    it('goes back when the process is idle', async () => {
      const ledger = spendLedger();
      const budget = createBudget(ledger, {}, { idleMs: 5 });
      (await budget.reserve(buildAsk(0.001))).settle(0.001);
      await expect
        .poll(() => readDay(ledger))
        .toEqual({ bookedUsd: expect.closeTo(0.001), reservedUsd: expect.closeTo(0) });
    });

    it('goes back at a clean stop, without the money of calls under way', async () => {
      const ledger = spendLedger();
      const budget = createBudget(ledger);
      await budget.reserve(buildAsk(0.001));
      expect(await readDay(ledger)).toEqual({ bookedUsd: 0.01, reservedUsd: 0.01 });
      await budget.giveBack();
      expect(await readDay(ledger)).toEqual({
        bookedUsd: expect.closeTo(0.001),
        reservedUsd: expect.closeTo(0.001),
      });
    });

    it('goes back at midnight, and a call under way is booked on the day of its reservation', async () => {
      const ledger = spendLedger();
      const budget = createBudget(ledger);
      const clock = { nowMs: DAY_START_MS + DAY_MS - 5 };
      const ask = { ...buildAsk(0.001), nowMs: () => clock.nowMs };
      const late = await budget.reserve(ask);
      clock.nowMs += 10;
      (await budget.reserve(ask)).settle(0.002);
      late.settle(0.004);
      await budget.giveBack();
      expect((await readDay(ledger)).bookedUsd).toBeCloseTo(0.004);
      expect((await readDay(ledger, DAY_START_MS + DAY_MS)).bookedUsd).toBeCloseTo(0.002);
    });

    it('goes back also when midnight comes while it is being leased', async () => {
      const ledger = spendLedger();
      const { spend } = ledger;
      const taken = Promise.withResolvers<void>();
      ledger.spend = async (entries) => {
        await taken.promise;
        return spend(entries);
      };
      const budget = createBudget(ledger);
      const clock = { nowMs: DAY_START_MS + DAY_MS - 5 };
      const ask = { ...buildAsk(0.001), nowMs: () => clock.nowMs };
      const early = budget.reserve(ask);
      await pause();
      clock.nowMs += 10;
      const others = [budget.reserve(ask), budget.reserve({ ...ask, rule: 'other' })];
      await pause();
      taken.resolve();
      (await Promise.all([early, ...others])).forEach((each) => each.settle(0));
      await budget.giveBack();
      expect((await readDay(ledger)).bookedUsd).toBeCloseTo(0);
      expect((await readDay(ledger, DAY_START_MS + DAY_MS)).bookedUsd).toBeCloseTo(0);
    });

    it('is smaller when less of the budget is left, so that idle blocks do not stop other processes', async () => {
      const ledger = spendLedger();
      const budgets = Array.from({ length: 8 }, () => createBudget(ledger, {}, { idleMs: 3_600_000 }));
      let spentUsd = 0;
      for (let call = 0; spentUsd < 0.97; call += 1) {
        (await budgets[call % 8]!.reserve(buildAsk(0.0005))).settle(0.0005);
        spentUsd += 0.0005;
      }
      expect(spentUsd).toBeCloseTo(0.97);
    });

    it('of a process with a lower budget counts the money that other processes spent of a higher one', async () => {
      const ledger = spendLedger();
      const former = createBudget(ledger);
      (await former.reserve(buildAsk(0.5))).settle(0.5);
      await former.giveBack();
      const next = createBudget(ledger);
      const refusal = await readRefusal(next, buildAsk(0.001, { capUsd: 0.4 }));
      expect(refusal.details).toMatchObject({ notBeforeMs: DAY_START_MS + DAY_MS });
      (await former.reserve(buildAsk(0.1))).settle(0.1);
      await former.giveBack();
      expect((await readDay(ledger)).bookedUsd).toBeCloseTo(0.6);
    });

    it('that a reload has lowered is not raised by a call of the rules of before', async () => {
      const budget = createBudget(spendLedger());
      (await budget.reserve(buildAsk(0.5, { capUsd: 2 }))).settle(0.5);
      const present = readRefusal(budget, buildAsk(0.5, { capUsd: 0.6 }));
      const former = budget.reserve(buildAsk(0.5, { capUsd: 2 }));
      expect((await present).details).toMatchObject({ notBeforeMs: DAY_START_MS + DAY_MS });
      (await former).settle(0.5);
    });
  });

  describe('calls that cost more than their estimate', () => {
    it('are reserved at their real cost after the first call, of which only one block is under way', async () => {
      const ledger = spendLedger();
      const budget = createBudget(ledger);
      const asks = Array.from({ length: 50 }, () => budget.reserve(buildAsk(0.02)));
      const ended = asks.map((ask) =>
        ask.then(
          async (reservation) => {
            await pause();
            reservation.settle(0.05);
            return 0.05;
          },
          () => 0,
        ),
      );
      const spentUsd = (await Promise.all(ended)).reduce((sum, usd) => sum + usd, 0);
      await budget.giveBack();
      expect(spentUsd).toBeLessThanOrEqual(1);
      expect(spentUsd).toBeGreaterThan(0.85);
      expect((await readDay(ledger)).bookedUsd).toBeCloseTo(spentUsd);
    });

    it('take the difference from the budget at once, before another process leases it', async () => {
      const ledger = spendLedger();
      const budget = createBudget(ledger, {}, { writeDelayMs: 3_600_000 });
      await makeFirstCall(budget);
      const [first] = await Promise.all([budget.reserve(buildAsk(0.1)), budget.reserve(buildAsk(0.1))]);
      first.settle(0.7);
      await sleep(1);
      expect((await readDay(ledger)).bookedUsd).toBeCloseTo(0.81);
    });
  });

  describe('three processes with one budget', () => {
    it.each([
      ['less than', (random: number) => random, 1],
      // Calls under way at the end may cost more than their reservations.
      ['up to three times as much as', (random: number) => 3 * random, 1.02],
    ])(
      'spend it, but not more than its limit, when calls cost %s the estimate',
      async (_cost, computeRatio, limitUsd) => {
        const random = seeded(7);
        const jump = async () => {
          for (let turns = Math.floor(random() * 3); turns > 0; turns -= 1) {
            await pause();
          }
        };
        const ledger = spendLedger(jump);
        const terms = { recheckMs: 1, idleMs: 1, maxWaitMs: 1e9, random };
        const budgets = Array.from({ length: 3 }, () => createBudget(ledger, {}, terms));
        let spentUsd = 0;
        const call = async (index: number) => {
          const usd = 0.001 + 0.009 * random();
          const reservation = await budgets[index % 3]!.reserve(buildAsk(usd)).catch(() => undefined);
          if (reservation !== undefined) {
            await jump();
            const costUsd = usd * computeRatio(random());
            spentUsd += costUsd;
            reservation.settle(costUsd);
          }
        };
        await Promise.all(Array.from({ length: 600 }, (_, index) => call(index)));
        await Promise.all(budgets.map((budget) => budget.giveBack()));

        const { bookedUsd, reservedUsd } = await readDay(ledger);
        expect(bookedUsd).toBeCloseTo(spentUsd);
        expect(reservedUsd).toBeCloseTo(0);
        expect(spentUsd).toBeLessThanOrEqual(limitUsd + 1e-9);
        expect(spentUsd).toBeGreaterThan(0.9);
      },
    );
  });

  /** Park and Miller's generator: the same numbers in every run. */
  function seeded(seed: number): () => number {
    let state = seed;
    return () => {
      state = (state * 48_271) % 2_147_483_647;
      return state / 2_147_483_647;
    };
  }
});

describe('budgets of several scopes', () => {
  const DAY_MS = 86_400_000;
  const MONTH_START_MS = Date.UTC(2026, 10, 1);
  const NOON_MS = Date.UTC(2026, 10, 21, 12);
  const TERMS = { recheckMs: 1, idleMs: 1, maxWaitMs: 1_000 };

  function buildAsk(parts: Partial<BudgetRequest> & { readonly atMs?: number } = {}): BudgetRequest {
    const { atMs = NOON_MS, ...rest } = parts;
    return { rule: 'r', tenant: 'a', scoreId: 's', model: 'm/1', usd: 0.1, nowMs: () => atMs, ...rest };
  }

  async function spend(budget: Budget, ask: BudgetRequest): Promise<void> {
    (await budget.reserve(ask)).settle(undefined);
  }

  /** Spends calls until one is refused. Returns the number of calls and the refusal. */
  async function spendAll(budget: Budget, ask: BudgetRequest): Promise<{ calls: number; refusal: AppError }> {
    for (let calls = 0; ; calls += 1) {
      const error = await spend(budget, ask).catch((thrown: unknown) => thrown);
      if (error instanceof AppError) {
        return { calls, refusal: error };
      }
      expect(error).toBeUndefined();
    }
  }

  function open(shared: SharedBudgets, ledger: SpendLedger = spendLedger()): Budget {
    return createBudget(ledger, shared, TERMS);
  }

  describe('a call', () => {
    it('needs no money when no budget applies to its rule, its tenant or the installation', () => {
      const budget = open({ tenants: { b: { perDay: 1 } } });
      expect(budget.isLimited({ caps: undefined, tenant: 'a' })).toBe(false);
      expect(budget.isLimited({ caps: { perMonth: 1 }, tenant: 'a' })).toBe(true);
      expect(budget.isLimited({ caps: undefined, tenant: 'b' })).toBe(true);
      expect(open({ total: { perDay: 1 } }).isLimited({ caps: undefined, tenant: 'a' })).toBe(true);
    });

    it.each([
      ['of its rule', { caps: { perDay: 0.3 } }, {}, "rule r's budget of 0.3 USD a UTC day"],
      ['of its tenant', {}, { tenants: { a: { perDay: 0.3 } } }, "tenant a's budget of 0.3 USD a UTC day"],
      ['of the installation', {}, { total: { perDay: 0.3 } }, 'the total budget of 0.3 USD a UTC day'],
      [
        'of the month',
        {},
        { total: { perDay: 9, perMonth: 0.3 } },
        'the total budget of 0.3 USD a UTC month',
      ],
    ])('passes the limit %s, and is refused by it beside larger ones', async (_cap, ask, shared, words) => {
      const larger = { caps: { perDay: 9, perMonth: 9 }, ...ask };
      const budgets = { total: { perDay: 9 }, tenants: { a: { perMonth: 9 } }, ...shared };
      const { calls, refusal } = await spendAll(open(budgets), buildAsk(larger));
      expect(calls).toBe(3);
      expect(refusal.message).toContain(`of ${words}, 0.3 USD are spent and 0 USD reserved`);
    });

    it('leaves no money reserved in the budgets that it passed before another one refused it', async () => {
      const ledger = spendLedger();
      const shared = { total: { perDay: 0.1 } };
      const budget = open(shared, ledger);
      await spendAll(budget, buildAsk({ caps: { perDay: 1 } }));
      await budget.giveBack();
      const range = { fromMs: 0, toMs: NOON_MS + DAY_MS, openSinceMs: 0 };
      expect(await ledger.readSpending({ kind: 'rule', name: 'r' }, range)).toEqual({
        bookedUsd: expect.closeTo(0.1),
        reservedUsd: expect.closeTo(0),
      });
    });

    it('is one entry, whatever the number of its budgets, in the same insert as the changes of their leases', async () => {
      const ledger = spendLedger();
      const budget = open({ total: { perDay: 1 }, tenants: { a: { perMonth: 1 } } }, ledger);
      const reservation = await budget.reserve(buildAsk({ caps: { perDay: 1 } }));
      const before = ledger.statements;
      reservation.settle(0.04);
      await budget.giveBack();
      expect(ledger.statements).toBe(before + 1);
      expect(ledger.entries().filter(({ kind }) => kind === 'call')).toMatchObject([
        { rule: 'r', tenant: 'a', scope: '', costUsd: 0.04 },
      ]);
    });
  });

  describe('the budget of a tenant', () => {
    it('is shared by rules, and other tenants do not pay for it', async () => {
      const budget = open({ tenants: { a: { perDay: 0.3 } } });
      await spend(budget, buildAsk({ rule: 'one' }));
      expect((await spendAll(budget, buildAsk({ rule: 'two' }))).calls).toBe(2);
      expect(budget.isLimited({ caps: undefined, tenant: 'b' })).toBe(false);
    });
  });

  describe('the budget of a month', () => {
    it('counts the earlier days of the month, and refuses until the next month', async () => {
      const ledger = spendLedger();
      const shared = { total: { perDay: 0.3, perMonth: 0.5 } };
      const days = [NOON_MS - 2 * DAY_MS, NOON_MS - DAY_MS, NOON_MS].map((atMs) => buildAsk({ atMs }));
      const refusals: AppError[] = [];
      const calls: number[] = [];
      for (const ask of days) {
        const budget = open(shared, ledger);
        const spent = await spendAll(budget, ask);
        await budget.giveBack();
        refusals.push(spent.refusal);
        calls.push(spent.calls);
      }
      expect(calls).toEqual([3, 2, 0]);
      const december = Date.UTC(2026, 11, 1);
      expect(refusals.map(({ details }) => details['notBeforeMs'])).toEqual([
        Date.UTC(2026, 10, 20),
        december,
        december,
      ]);
      expect((await spendAll(open(shared, ledger), buildAsk({ atMs: december }))).calls).toBe(3);
    });

    it('is read with few statements: the earlier days are read again each hour', async () => {
      const ledger = spendLedger();
      const budget = createBudget(
        ledger,
        { total: { perMonth: 100 } },
        { ...TERMS, writeDelayMs: 3_600_000 },
      );
      for (let call = 0; call < 20; call += 1) {
        await spend(budget, buildAsk({ usd: 1 }));
      }
      // For each block of 1 USD: the lease and the read of the day.
      expect(ledger.statements).toBeLessThanOrEqual(2 * 20 + 1);
    });

    it('of several processes is never exceeded, and hardly anything of it is left', async () => {
      const ledger = spendLedger();
      const shared = { total: { perMonth: 1 }, tenants: { a: { perDay: 0.7 }, b: { perDay: 0.7 } } };
      const budgets = Array.from({ length: 4 }, () => open(shared, ledger));
      const spent = await Promise.all(
        budgets.map((budget, n) =>
          spendAll(budget, buildAsk({ usd: 0.01, tenant: n % 2 === 0 ? 'a' : 'b' })),
        ),
      );
      await Promise.all(budgets.map((budget) => budget.giveBack()));
      const calls = spent.reduce((sum, each) => sum + each.calls, 0);
      expect(calls).toBeLessThanOrEqual(100);
      expect(calls).toBeGreaterThanOrEqual(97);
      const reader = createBudgetReader(ledger, [
        { scope: { kind: 'total', name: '' }, caps: { perDay: 5, perMonth: 1 } },
        { scope: { kind: 'tenant', name: 'a' }, caps: { perDay: 0.7 } },
      ]);
      const [day, month, tenant] = await reader.read(NOON_MS);
      expect(month).toMatchObject({ period: 'month', capUsd: 1, spentUsd: expect.closeTo(calls / 100) });
      expect(day?.spentUsd).toBeCloseTo(calls / 100);
      expect(tenant?.spentUsd).toBeLessThanOrEqual(0.7 + 1e-9);
    });
  });

  describe('the state of a cap', () => {
    it('has no rounding errors of sums', async () => {
      const part = { rule: 'r', tenant: 'a', scope: '', isLease: true } as const;
      const amounts = [0.1, 0.2, -0.3].map((usd) => ({ ...part, bookedUsd: usd, reservedUsd: -usd }));
      const ledger = { listSpending: async () => amounts };
      const reader = createBudgetReader(ledger, [
        { scope: { kind: 'rule', name: 'r' }, caps: { perDay: 1 } },
      ]);
      expect(await reader.read(NOON_MS)).toMatchObject([{ spentUsd: 0, reservedUsd: 0 }]);
    });
  });

  describe('a call at midnight', () => {
    it('reserves the money of all its budgets on one day', async () => {
      const ledger = spendLedger();
      const budget = open({ total: { perDay: 1 } }, ledger);
      const times = [MONTH_START_MS - 1, MONTH_START_MS - 1, MONTH_START_MS - 1];
      const nowMs = () => times.shift() ?? MONTH_START_MS + 5;
      (await budget.reserve({ ...buildAsk({ caps: { perDay: 1 } }), nowMs })).settle(0.1);
      await budget.giveBack();
      for (const [scope, usd] of [
        [{ kind: 'rule', name: 'r' }, 0.1],
        [{ kind: 'total', name: '' }, 0.1],
      ] as const) {
        const range = { fromMs: MONTH_START_MS, toMs: MONTH_START_MS + DAY_MS, openSinceMs: 0 };
        expect((await ledger.readSpending(scope, range)).bookedUsd).toBeCloseTo(usd);
      }
    });
  });
});

const MIDNIGHT_MS = Date.UTC(2026, 10, 22);

/** A scorer that asks a judge these questions, one after the other. */
function asking(model: JudgeModel, ...questions: string[]): CountingScorer {
  const ask = async () => {
    for (const prompt of questions) {
      await askForText(model, { instructions: 'Judge.', prompt });
    }
    return { score: 1 };
  };
  return new CountingScorer('asking', ask, 'scripted/judge-1');
}

async function scoreOne(prices: PriceTable, ...rules: Rule[]) {
  const store = new MemoryStore();
  const mode = await buildLiveMode(store, ...rules);
  const traceId = newTraceId();
  store.ingest([agentSpan(traceId, 'a', { says: 'It rains.' })]);
  store.clockMs += 60_000;
  const scoring = createTestScoring(store, {}, { judgeScope: { judges: createJudgeRegistry({ prices }) } });
  await scoreTraces(scoring, [{ tenant: '', traceId }], mode);
  await scoring.budget.giveBack();
  const range = { fromMs: MIDNIGHT_MS - 86_400_000, toMs: MIDNIGHT_MS, openSinceMs: 0 };
  const { bookedUsd } = await store.stores.judgeCalls.readSpending({ kind: 'rule', name: 'r' }, range);
  return { decisions: store.decisions(), bookedUsd };
}

/** The AI SDK's error for an answer with this status, which is recognised by its shape. */
function apiFault(statusCode: number): Error {
  return Object.assign(new Error('no'), {
    [Symbol.for('vercel.ai.error.AI_APICallError')]: true,
    statusCode,
    responseBody: '{}',
  });
}

/** A million tokens in for 100 USD, as many out for 1,000 USD: 500 expected output tokens are half a dollar. */
const DEAR = { 'scripted/judge-1': { input: 100, cachedInput: 100, output: 1000 } };

describe('the budget of a rule', () => {
  it('that is below the estimate of one call allows no call, and the decision says so until midnight', async () => {
    const model = modelObject(() => 'fine');
    const rule = buildRule([asking(model, 'Does it rain?')], { budget: { perDay: 0.0001 } });
    const { decisions, bookedUsd } = await scoreOne(DEAR, rule);
    expect(model.calls).toHaveLength(0);
    expect(bookedUsd).toBe(0);
    expect(decisions).toMatchObject([{ status: 'deferred', nextAttemptAt: MIDNIGHT_MS }]);
    expect(decisions[0]?.reason).toMatch(
      /^budget_exhausted: a call to scripted\/judge-1 is estimated at 0\.50\d+ USD; of rule r's budget of 0\.0001 USD a UTC day, 0 USD are spent and 0 USD reserved/,
    );
  });

  it('is charged what the call really cost, 100 tokens in and 10 out', async () => {
    const model = modelObject(() => 'fine');
    const rule = buildRule([asking(model, 'Does it rain?')], { budget: { perDay: 5 } });
    const { decisions, bookedUsd } = await scoreOne(DEAR, rule);
    expect(decisions).toMatchObject([{ status: 'scored', costUsd: 0.02 }]);
    expect(bookedUsd).toBeCloseTo(0.02);
  });

  it('is charged the estimate when the provider reports no usage', async () => {
    const model = modelObject(() => 'fine', { usage: {} });
    const rule = buildRule([asking(model, 'Does it rain?')], { budget: { perDay: 5 } });
    const { decisions, bookedUsd } = await scoreOne(DEAR, rule);
    expect(decisions).toMatchObject([{ status: 'scored', costUsd: expect.closeTo(0.5, 1) }]);
    expect(bookedUsd).toBeGreaterThan(0.5);
  });

  it.each([
    ['nothing for a call that the provider refused', apiFault(401), 0],
    ['nothing for a call that failed on the provider', apiFault(500), 0],
    ['the estimate for a call that a gateway gave up on', apiFault(504), 0.5],
    ['the estimate for a reply that broke off', new TypeError('terminated'), 0.5],
  ])('is charged %s', async (_what, fault, leastUsd) => {
    const model = modelObject(() => Promise.reject(fault));
    const ask = async () => {
      await askForText(model, { instructions: 'Judge.', prompt: 'Why?', settings: { maxRetries: 0 } });
      return { score: 1 };
    };
    const scorer = new CountingScorer('asking', ask, 'scripted/judge-1');
    const { decisions, bookedUsd } = await scoreOne(DEAR, buildRule([scorer], { budget: { perDay: 5 } }));
    expect(decisions).toMatchObject([{ status: 'deferred' }]);
    expect(bookedUsd).toBeGreaterThanOrEqual(leastUsd);
    expect(bookedUsd).toBeLessThan(leastUsd + 0.1);
  });

  it('never defers a judge that costs nothing', async () => {
    const model = modelObject(() => 'fine');
    const rule = buildRule([asking(model, 'Does it rain?')], { budget: { perDay: 0.0001 } });
    const { decisions, bookedUsd } = await scoreOne({ 'scripted/judge-1': { input: 0, output: 0 } }, rule);
    expect(decisions).toMatchObject([{ status: 'scored', costUsd: 0 }]);
    expect(bookedUsd).toBe(0);
  });

  it('allows no call of a judge without a known price, and names the line to add', async () => {
    const model = modelObject(() => 'fine');
    const rule = buildRule([asking(model, 'Does it rain?')], { budget: { perDay: 5 } });
    const { decisions } = await scoreOne({}, rule);
    expect(model.calls).toHaveLength(0);
    expect(decisions[0]?.status).toBe('failed');
    expect(decisions[0]?.reason).toContain('prices: { scripted/judge-1: { input: 0.25, output: 2 } }');
  });

  it('stops a scorer between two questions; the first is paid', async () => {
    const model = modelObject(() => 'fine');
    const rule = buildRule([asking(model, 'Does it rain?', 'Is it cold?')], { budget: { perDay: 0.515 } });
    const { decisions, bookedUsd } = await scoreOne(DEAR, rule);
    expect(model.calls).toHaveLength(1);
    expect(decisions).toMatchObject([{ status: 'deferred', costUsd: 0.02, nextAttemptAt: MIDNIGHT_MS }]);
    expect(bookedUsd).toBeCloseTo(0.02);
  });

  it('that is spent does not defer another rule that needs the same score', async () => {
    const scorer = asking(
      modelObject(() => 'fine'),
      'Does it rain?',
    );
    const spent = buildRule([scorer], { budget: { perDay: 0.0001 } });
    const { decisions } = await scoreOne(DEAR, spent, buildRule([scorer], { name: 'free' }));
    const statuses = Object.fromEntries(decisions.map(({ rule, status }) => [rule, status]));
    expect(statuses).toEqual({ free: 'scored', r: 'deferred' });
  });
});
