import { setImmediate as pause, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/domain/errors.ts';
import { createBudget, type Budget } from '../../../../src/scoring/budget/budget.ts';
import { spendLedger, type SpendLedger } from '../../../support/store/spend-ledger.ts';

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

    expect(await readDay(ledger)).toEqual({ bookedUsd: expect.closeTo(0.2), reservedUsd: expect.closeTo(0) });
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
      expect(await readRefusal(budget, { ...buildAsk(0.2), nowMs })).toMatchObject({ retryAfterMs: 30_000 });
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
