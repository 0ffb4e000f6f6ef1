import { describe, expect, it } from 'vitest';
import { bookRequests } from '../../../src/batches/book-requests.ts';
import type { ScopedBudget } from '../../../src/domain/money/budget.ts';
import { createBudget } from '../../../src/scoring/budget/budget.ts';
import type { BatchChunk } from '../../../src/store/contracts/judge-batches.ts';
import { aBatchQuestion } from '../../support/builders/batch-question.ts';
import { spendLedger } from '../../support/store/spend-ledger.ts';

const NOON_MS = Date.UTC(2026, 10, 21, 12);
const TOTAL: ScopedBudget = { scope: { kind: 'total', name: '' }, caps: { perDay: 10, perMonth: 20 } };
const ofDay = { fromMs: 0, toMs: NOON_MS + 86_400_000, openSinceMs: 0 };

const chunk = (id: string, intendedAtMs = NOON_MS): BatchChunk => ({
  id,
  jobId: 'job',
  provider: 'local',
  status: 'sending',
  requests: 2,
  intendedAtMs,
  batchId: '',
  inputFileId: '',
  outputFileId: '',
  errorFileId: '',
  error: '',
});
const ids = (requests: readonly { readonly customId: string }[]) => requests.map(({ customId }) => customId);

describe('questions that are about to be sent', () => {
  it('leave the money that live calls have leased', async () => {
    const ledger = spendLedger();
    const live = createBudget(ledger, { total: TOTAL.caps });
    const ask = { rule: 'r', tenant: '', scoreId: 's', model: 'm/1', usd: 7, nowMs: () => NOON_MS };
    await live.reserve(ask);

    const asked = [aBatchQuestion('a', 2), aBatchQuestion('b', 2)];
    const booked = await bookRequests({ judgeCalls: ledger, budgets: [TOTAL] }, chunk('one'), asked);

    expect(ids(booked.payable)).toEqual(['a']);
    expect(booked.refused).toEqual([
      { request: asked[1], reason: expect.stringContaining('the total budget had no money left') },
    ]);
  });

  it('are booked once, however often that is repeated, and a question without money stays unpaid', async () => {
    const ledger = spendLedger();
    const deps = { judgeCalls: ledger, budgets: [TOTAL] };
    const all = [aBatchQuestion('a', 6), aBatchQuestion('b', 6)];
    await bookRequests(deps, chunk('one'), all);
    const stored = [aBatchQuestion('a', 6), { ...aBatchQuestion('b', 6), status: 'unpaid' as const }];

    for (let n = 0; n < 2; n += 1) {
      expect(ids((await bookRequests(deps, chunk('one'), stored)).payable)).toEqual(['a']);
      expect((await ledger.readSpending(TOTAL.scope, ofDay)).bookedUsd).toBeCloseTo(6);
    }
  });

  it('belong to the day of the sending, and to its month', async () => {
    const ledger = spendLedger();
    const deps = { judgeCalls: ledger, budgets: [TOTAL] };
    const days = [NOON_MS - 2 * 86_400_000, NOON_MS - 86_400_000, NOON_MS];
    const payable: string[][] = [];
    for (const [n, atMs] of days.entries()) {
      const asked = [aBatchQuestion(`a${n}`, 8)];
      payable.push(ids((await bookRequests(deps, chunk(`c${n}`, atMs), asked)).payable));
    }

    expect(payable).toEqual([['a0'], ['a1'], []]);
  });
});
