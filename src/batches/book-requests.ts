import { nameBudget, paysFor, type ScopedBudget, type ScopeRest } from '../domain/money/budget.ts';
import { computeBudgetDay, computeBudgetMonth, computeNextBudgetDay } from '../domain/money/budget-period.ts';
import type { BatchChunk, BatchRequestRow } from '../store/contracts/judge-batches.ts';
import type { JudgeCallStore } from '../store/contracts/stores.ts';
import { choosePayable } from './payable-requests.ts';
import { listEstimates } from './spend-entries.ts';

export interface BookingDeps {
  readonly judgeCalls: Pick<JudgeCallStore, 'spend' | 'readSpending'>;
  /** Budgets of the configuration. */
  readonly budgets: readonly ScopedBudget[];
}

/** Questions of a chunk after their booking. */
export interface BookedRequests {
  /** Questions whose money is booked: they may be sent. */
  readonly payable: readonly BatchRequestRow[];
  /** Questions whose money has to be taken back, with the reason. */
  readonly refused: readonly { readonly request: BatchRequestRow; readonly reason: string }[];
}

/**
 * Books the expected cost of the open questions of a chunk, then reads the totals of their budgets. Live calls lease their money in
 * the same order: so of two that book at the same time both may be refused, but never more than a budget is accepted. A repeat books
 * nothing twice.
 */
export async function bookRequests(
  { judgeCalls, budgets }: BookingDeps,
  chunk: BatchChunk,
  all: readonly BatchRequestRow[],
): Promise<BookedRequests> {
  const open = all.filter(({ status }) => status === 'waiting' || status === 'claimed');
  const unpaid = all.filter(({ status }) => status === 'unpaid');
  await judgeCalls.spend([...listEstimates(chunk, all, 1), ...listEstimates(chunk, unpaid, -1)]);
  const asked = budgets.filter(({ scope }) => open.some((request) => paysFor(scope, request)));
  const rests = await Promise.all(asked.map((budget) => readRest(judgeCalls, budget, chunk, open)));
  const { payable, refused } = choosePayable(open, { unbooked: [], jobRestUsd: Infinity, rests });
  return {
    payable,
    refused: refused.map(({ request }) => ({ request, reason: describeRefusal(request, rests) })),
  };
}

/** Reads the money that a budget has for the questions of a chunk, whose cost is booked. */
async function readRest(
  judgeCalls: BookingDeps['judgeCalls'],
  { scope, caps: { perDay, perMonth } }: ScopedBudget,
  { intendedAtMs }: BatchChunk,
  booked: readonly BatchRequestRow[],
): Promise<ScopeRest> {
  const dayMs = computeBudgetDay(intendedAtMs);
  const read = async (capUsd: number | undefined, fromMs: number): Promise<number> => {
    if (capUsd === undefined) {
      return Infinity;
    }
    const range = { fromMs, toMs: computeNextBudgetDay(dayMs), openSinceMs: dayMs };
    return capUsd - (await judgeCalls.readSpending(scope, range)).bookedUsd;
  };
  const rests = await Promise.all([read(perDay, dayMs), read(perMonth, computeBudgetMonth(dayMs))]);
  const ownUsd = booked
    .filter((request) => paysFor(scope, request))
    .reduce((sum, { estimatedUsd }) => sum + (estimatedUsd ?? 0), 0);
  return { scope, restUsd: Math.min(...rests) + ownUsd };
}

function describeRefusal(request: BatchRequestRow, rests: readonly ScopeRest[]): string {
  const ofRequest = rests.filter(({ scope }) => paysFor(scope, request));
  const [tightest] = ofRequest.toSorted((one, other) => one.restUsd - other.restUsd);
  const budget = tightest === undefined ? 'its budget' : nameBudget(tightest.scope);
  return `${budget} had no money left when the batch was about to be sent`;
}
