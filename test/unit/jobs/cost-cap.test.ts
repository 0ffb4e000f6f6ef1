import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CostCap } from '../../../src/jobs/cost-cap.ts';
import { StoreUnavailableError } from '../../../src/domain/errors.ts';
import { createBudget } from '../../../src/scoring/budget/budget.ts';
import type { BudgetRequest } from '../../../src/scoring/budget/budget-request.ts';
import { seededRandom } from '../../support/builders/score-streams.ts';

const NO_BUDGET = createBudget({
  readSpending: async () => ({ bookedUsd: 0, reservedUsd: 0 }),
  spend: async () => undefined,
});

const anAsk = (usd: number): BudgetRequest => ({
  rule: 'r',
  tenant: '',
  scoreId: '',
  model: 'fake/judge',
  usd,
  nowMs: () => 0,
});

/** Creates a cap of 10 USD, of whose model a call has ended: so calls may begin at the same time. */
async function openCap(storeClaim: (cap: CostCap) => Promise<void>) {
  let isOpen = false;
  const cap: CostCap = new CostCap(10, 0, async () => (isOpen ? storeClaim(cap) : undefined));
  const budget = cap.limit(NO_BUDGET);
  const first = await budget.reserve(anAsk(1));
  await first.begin?.();
  first.settle(1);
  isOpen = true;
  return { cap, budget };
}

describe('the claim of a backfill with a cost cap', () => {
  it('is stored before the call begins', async () => {
    const stored = Promise.withResolvers<void>();
    const { cap, budget } = await openCap(() => stored.promise);
    const call = await budget.reserve(anAsk(1));
    let hasBegun = false;
    const begun = call.begin?.().then(() => (hasBegun = true));
    await nextTurn();
    expect(hasBegun).toBe(false);
    expect(cap.claimUsd).toBeGreaterThanOrEqual(2);
    stored.resolve();
    await begun;
    expect(hasBegun).toBe(true);
  });

  it('is one for the calls that wait together', async () => {
    let stores = 0;
    const { budget } = await openCap(async () => {
      stores += 1;
      await nextTurn();
    });
    const calls = await Promise.all(Array.from({ length: 5 }, () => budget.reserve(anAsk(1))));
    await Promise.all(calls.map(async (call) => call.begin?.()));
    // The first call stores its own. The others wait meanwhile.
    expect(stores).toBe(2);
  });

  it('counts neither the money of calls that wait for the provider, nor of those that have ended for less', async () => {
    const { cap, budget } = await openCap(async () => undefined);
    const [waits, ends] = [await budget.reserve(anAsk(3)), await budget.reserve(anAsk(3))];
    await ends.begin?.();
    ends.settle(1);
    expect(cap.paidUsd).toBe(2);
    waits.settle(0);
    expect(cap.paidUsd).toBe(2);
  });

  it('that the store does not take stops the call, and the next call tries again', async () => {
    let isAway = true;
    const { cap, budget } = await openCap(async () => {
      if (isAway) {
        throw new StoreUnavailableError('the store is away');
      }
    });
    const call = await budget.reserve(anAsk(1));
    await expect(call.begin?.()).rejects.toThrow('the store is away');
    call.settle(0);
    expect(cap.paidUsd).toBe(1);
    isAway = false;
    const next = await budget.reserve(anAsk(1));
    await next.begin?.();
    next.settle(1);
    expect(cap.paidUsd).toBe(2);
  });
});

describe('a backfill with a cost cap that is killed again and again', () => {
  const CAP_USD = 1;
  const CALL_USD = 0.01;
  const AT_ONCE = 4;

  it.each([1, 2, 3, 4, 5, 6])(
    'pays no more than the cap, and spends the most of it (seed %i)',
    async (seed) => {
      const random = seededRandom(seed);
      const row = { costUsd: 0, claimUsd: 0 };
      let paidUsd = 0;
      let kills = 0;

      const live = async (steps: number): Promise<boolean> => {
        let left = steps;
        let costUsd = row.costUsd;
        const isKilled = () => left <= 0;
        const step = async () => {
          left -= 1;
          for (let turns = random() * 3; turns > 0; turns -= 1) {
            await nextTurn();
          }
          if (isKilled()) {
            throw new Error('killed');
          }
        };
        const cap: CostCap = new CostCap(CAP_USD, Math.max(row.costUsd, row.claimUsd), async () => {
          await step();
          Object.assign(row, { costUsd, claimUsd: cap.claimUsd });
        });
        const budget = cap.limit(NO_BUDGET);
        const callOn = async (): Promise<void> => {
          for (;;) {
            const call = await budget.reserve(anAsk(CALL_USD));
            await step();
            await call.begin?.();
            const usd = CALL_USD * (0.5 + random() / 2);
            paidUsd += usd;
            await step();
            costUsd += usd;
            call.settle(usd);
          }
        };
        const workers = Array.from({ length: AT_ONCE }, callOn);
        await Promise.race([Promise.allSettled(workers), untilTrue(isKilled)]);
        return isKilled();
      };

      while (await live(10 + Math.floor(random() * 40))) {
        kills += 1;
      }

      expect(paidUsd).toBeLessThanOrEqual(CAP_USD + 1e-9);
      const lostUsd = kills * (CAP_USD * 0.01 + AT_ONCE * CALL_USD);
      expect(paidUsd).toBeGreaterThanOrEqual(CAP_USD - lostUsd - AT_ONCE * CALL_USD);
      expect(kills).toBeGreaterThan(3);
    },
  );
});

/** Waits until a condition holds. Ends with the process of the test. */
async function untilTrue(condition: () => boolean): Promise<void> {
  while (!condition()) {
    await nextTurn();
  }
}
