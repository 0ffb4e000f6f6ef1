import { describe, expect, it } from 'vitest';
import type { SharedBudgets } from '../../../../src/domain/money/budget.ts';
import { AppError } from '../../../../src/domain/errors.ts';
import { createBudget, type Budget } from '../../../../src/scoring/budget/budget.ts';
import { createBudgetReader, type BudgetAsk } from '../../../../src/scoring/budget/budget-ask.ts';
import { spendLedger, type SpendLedger } from '../../../support/store/spend-ledger.ts';

const DAY_MS = 86_400_000;
const MONTH_START_MS = Date.UTC(2026, 10, 1);
const NOON_MS = Date.UTC(2026, 10, 21, 12);
const TERMS = { recheckMs: 1, idleMs: 1, maxWaitMs: 1_000 };

function buildAsk(parts: Partial<BudgetAsk> & { readonly atMs?: number } = {}): BudgetAsk {
  const { atMs = NOON_MS, ...rest } = parts;
  return { rule: 'r', tenant: 'a', scoreId: 's', model: 'm/1', usd: 0.1, nowMs: () => atMs, ...rest };
}

async function spend(budget: Budget, ask: BudgetAsk): Promise<void> {
  (await budget.reserve(ask)).settle(undefined);
}

/** Spends calls until one is refused. Returns the number of calls and the refusal. */
async function spendAll(budget: Budget, ask: BudgetAsk): Promise<{ calls: number; refusal: AppError }> {
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
    ['of the month', {}, { total: { perDay: 9, perMonth: 0.3 } }, 'the total budget of 0.3 USD a UTC month'],
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
    const budget = createBudget(ledger, { total: { perMonth: 100 } }, { ...TERMS, writeDelayMs: 3_600_000 });
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
      budgets.map((budget, n) => spendAll(budget, buildAsk({ usd: 0.01, tenant: n % 2 === 0 ? 'a' : 'b' }))),
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
    const reader = createBudgetReader(ledger, [{ scope: { kind: 'rule', name: 'r' }, caps: { perDay: 1 } }]);
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
