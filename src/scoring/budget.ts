import type { JudgeCallStore } from '../store/contracts/stores.ts';

const DAY_MS = 86_400_000;

/** How long a rule's spending is believed before it is read again: other processes spend too. */
const REREAD_MS = 30_000;

/** Reserved for a score whose cost is not known yet, USD; also what a score costs whose judge has no known price. */
export const ASSUMED_SCORE_COST_USD = 0.01;

/** Weight of the newest cost in the running estimate. */
const ESTIMATE_STEP = 0.2;

/** Money put aside for one score. */
export interface Reservation {
  /** Books what was really spent, USD; null when the judge's price is unknown: then the reservation stands. */
  settle(costUsd: number | null): Promise<void>;
}

/** Daily budgets of rules, shared with every other process through the store. */
export interface Budget {
  /** Null when the rule's day (UTC) has no money left for this score. */
  reserve(ask: {
    rule: string;
    perDayUsd: number;
    scoreId: string;
    nowMs: number;
  }): Promise<Reservation | null>;
}

/** The next UTC midnight: when budgets are full again. */
export function nextBudgetDay(nowMs: number): number {
  return (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS;
}

/**
 * When a settlement is booked: on the day of its reservation, but never at the same moment, for the store takes an entry
 * that equals an earlier one for a repeated insert.
 */
function settledAt(reservedAtMs: number): number {
  return reservedAtMs + 1 < nextBudgetDay(reservedAtMs) ? reservedAtMs + 1 : reservedAtMs - 1;
}

interface Account {
  day: number;
  spentUsd: number;
  readAtMs: number;
  estimateUsd: number;
  /** The last operation: asks of one rule go one after the other. */
  queue: Promise<unknown>;
}

export function createBudget(store: Pick<JudgeCallStore, 'spentSince' | 'spend'>): Budget {
  const accounts = new Map<string, Account>();

  function accountOf(rule: string): Account {
    const known = accounts.get(rule);
    if (known !== undefined) {
      return known;
    }
    const account: Account = {
      day: -1,
      spentUsd: 0,
      readAtMs: 0,
      estimateUsd: ASSUMED_SCORE_COST_USD,
      queue: Promise.resolve(),
    };
    accounts.set(rule, account);
    return account;
  }

  async function refresh(rule: string, account: Account, nowMs: number): Promise<void> {
    const day = Math.floor(nowMs / DAY_MS);
    if (account.day !== day || nowMs - account.readAtMs >= REREAD_MS) {
      account.spentUsd = await store.spentSince(rule, day * DAY_MS);
      account.day = day;
      account.readAtMs = nowMs;
    }
  }

  async function book(account: Account, rule: string, scoreId: string, costUsd: number, atMs: number) {
    await store.spend([{ rule, costUsd, atMs, scoreId }]);
    account.spentUsd += costUsd;
  }

  return {
    reserve({ rule, perDayUsd, scoreId, nowMs }) {
      const account = accountOf(rule);
      return inTurn(account, async () => {
        await refresh(rule, account, nowMs);
        const reserved = account.estimateUsd;
        if (account.spentUsd + reserved > perDayUsd) {
          return null;
        }
        await book(account, rule, scoreId, reserved, nowMs);
        return {
          settle: (costUsd) =>
            inTurn(account, async () => {
              if (costUsd === null) {
                return;
              }
              account.estimateUsd += ESTIMATE_STEP * (costUsd - account.estimateUsd);
              await book(account, rule, scoreId, costUsd - reserved, settledAt(nowMs));
            }),
        };
      });
    },
  };
}

function inTurn<T>(account: Account, call: () => Promise<T>): Promise<T> {
  const turn = account.queue.then(call);
  account.queue = turn.catch(() => undefined);
  return turn;
}
