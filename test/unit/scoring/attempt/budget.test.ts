import { setImmediate as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/domain/errors.ts';
import { createBudget, type Budget } from '../../../../src/scoring/attempt/budget.ts';
import { spendLedger } from '../../../support/store/spend-ledger.ts';

const DAY_MS = 86_400_000;
const DAY_START_MS = Date.UTC(2026, 10, 21);
const NOON_MS = DAY_START_MS + DAY_MS / 2;

function buildAsk(usd: number, { capUsd = 1, nowMs = NOON_MS } = {}) {
  return {
    rule: 'r',
    perDayUsd: capUsd,
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

describe('money reserved for a judge call', () => {
  it.each([
    ['in the middle of a day', NOON_MS],
    ['in the first millisecond of a day', DAY_START_MS],
    ['in the last millisecond of a day', DAY_START_MS + DAY_MS - 1],
  ])('is booked in full on its day when the call cost twice as much, %s', async (_when, nowMs) => {
    const ledger = spendLedger();
    const budget = createBudget(ledger);

    const reservation = await budget.reserve(buildAsk(0.1, { nowMs }));
    expect(await ledger.readSpending('r', DAY_START_MS, 0)).toEqual({ bookedUsd: 0.1, reservedUsd: 0.1 });
    reservation.settle(0.2);
    await budget.flush();

    expect(await ledger.readSpending('r', DAY_START_MS, 0)).toEqual({ bookedUsd: 0.2, reservedUsd: 0 });
    expect(await ledger.readSpending('r', DAY_START_MS + DAY_MS, 0)).toEqual({
      bookedUsd: 0,
      reservedUsd: 0,
    });
  });

  it('costs nothing when no call was made', async () => {
    const ledger = spendLedger();
    const budget = createBudget(ledger);
    (await budget.reserve(buildAsk(0.1))).settle(0);
    await budget.flush();
    expect((await ledger.readSpending('r', DAY_START_MS, 0)).bookedUsd).toBe(0);
  });

  it('is refused until the next day when the budget is below one call, with the spent and the reserved money and the budget', async () => {
    const ledger = spendLedger();
    const refusal = await readRefusal(createBudget(ledger), buildAsk(0.0031, { capUsd: 0.0001 }));

    expect(refusal.message).toBe(
      "a call to openai/gpt-5 is estimated at 0.0031 USD; of rule r's budget of 0.0001 USD a UTC day, 0 USD are spent and 0 USD reserved by calls under way",
    );
    expect(refusal).toMatchObject({
      code: 'budget_exhausted',
      retryAfterMs: DAY_MS / 2,
      details: { notBeforeMs: DAY_START_MS + DAY_MS },
    });
    expect((await ledger.readSpending('r', DAY_START_MS, 0)).bookedUsd).toBe(0);
  });

  it('waits for calls under way that may give money back, and is reserved as soon as they do', async () => {
    const budget = createBudget(spendLedger(), { recheckMs: 3_600_000 });
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
    expect(budget.readings()).toEqual([
      { rule: 'r', spentUsd: expect.closeTo(0.1), reservedUsd: 0.8, capUsd: 1 },
    ]);
  });

  it('tries again soon, not tomorrow, when the calls under way take long', async () => {
    const clock = { nowMs: NOON_MS };
    const budget = createBudget(spendLedger(), { recheckMs: 1, maxWaitMs: 30_000 });
    await budget.reserve(buildAsk(0.8));
    const waiting = readRefusal(budget, { ...buildAsk(0.8), nowMs: () => (clock.nowMs += 1_000) });
    expect(await waiting).toMatchObject({ retryAfterMs: 30_000, details: { rule: 'r' } });
    expect((await waiting).message).toContain('0 USD are spent and 0.8 USD reserved');
  });

  it('stays spent when a dead process never settled it', async () => {
    const ledger = spendLedger();
    await createBudget(ledger).reserve(buildAsk(0.8));
    const later = createBudget(ledger);
    const refusal = await readRefusal(later, buildAsk(0.8, { nowMs: NOON_MS + 11 * 60_000 }));
    expect(refusal.details).toMatchObject({ notBeforeMs: DAY_START_MS + DAY_MS });
    expect(refusal.message).toContain('0.8 USD are spent and 0 USD reserved');
  });

  it('is available again on the next day', async () => {
    const budget = createBudget(spendLedger());
    (await budget.reserve(buildAsk(1))).settle(1);
    await readRefusal(budget, buildAsk(0.5));
    await expect(budget.reserve(buildAsk(0.5, { nowMs: NOON_MS + DAY_MS }))).resolves.toBeDefined();
  });

  it('is refused while the store is away, and a settlement is written when it is back', async () => {
    const ledger = spendLedger();
    const budget = createBudget(ledger);
    const reservation = await budget.reserve(buildAsk(0.5));
    ledger.isAway = true;
    reservation.settle(0.1);
    await budget.flush();
    await expect(budget.reserve(buildAsk(0.1))).rejects.toThrow('the store is away');
    ledger.isAway = false;
    (await budget.reserve(buildAsk(0.1))).settle(0.1);
    await budget.flush();
    expect((await ledger.readSpending('r', DAY_START_MS, 0)).bookedUsd).toBeCloseTo(0.2);
  });

  it('never goes above the budget with several processes, and all of the budget is spent in the end', async () => {
    const random = seeded(7);
    const jump = async () => {
      for (let turns = Math.floor(random() * 3); turns > 0; turns -= 1) {
        await pause();
      }
    };
    const ledger = spendLedger(jump);
    const budgets = Array.from({ length: 3 }, () => createBudget(ledger, { recheckMs: 1, maxWaitMs: 1e9 }));
    let underWayUsd = 0;
    let spentUsd = 0;
    let mostUsd = 0;
    const call = async (index: number) => {
      const usd = 0.01 + 0.09 * random();
      const reservation = await budgets[index % 3]!.reserve(buildAsk(usd)).catch(() => undefined);
      if (reservation !== undefined) {
        underWayUsd += usd;
        mostUsd = Math.max(mostUsd, underWayUsd + spentUsd);
        await jump();
        const costUsd = usd * random();
        underWayUsd -= usd;
        spentUsd += costUsd;
        reservation.settle(costUsd);
      }
    };
    await Promise.all(Array.from({ length: 120 }, (_, index) => call(index)));
    await Promise.all(budgets.map((budget) => budget.flush()));

    const { bookedUsd, reservedUsd } = await ledger.readSpending('r', DAY_START_MS, 0);
    expect(bookedUsd).toBeCloseTo(spentUsd);
    expect(reservedUsd).toBe(0);
    expect(mostUsd).toBeLessThanOrEqual(1 + 1e-9);
    expect(spentUsd).toBeGreaterThan(0.85);
  });
});

/** Park and Miller's generator: the same numbers in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
