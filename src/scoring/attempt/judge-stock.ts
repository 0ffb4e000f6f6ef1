import PQueue from 'p-queue';
import type { RunStock, StockEnd } from './run-stock.ts';

/** The judged runs of a process, and their places. */
export interface JudgeStock extends RunStock {
  /** Places of the stock. */
  readonly concurrency: number;
  /** Runs the call when there is a free place. */
  run<T>(end: StockEnd, call: () => Promise<T>): Promise<T>;
  /** Longest time that a run has waited for a place, milliseconds; 0 when no run waits. */
  waitMs(): number;
  /** Adds a listener that is called after each run that leaves the stock low. */
  onLow(listener: () => void): void;
}

export interface JudgeStockOptions {
  /** Runs at the same time. It should be what the providers allow: the time limit of a scorer starts when its run gets a place. */
  readonly concurrency: number;
  /** Share of the places that take the newest runs, from 0 to 1. */
  readonly newestShare: number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
}

/** Rounds of all places that wait, prepared, for the present round: the next ones are read meanwhile. */
const ROUNDS = 2;

/** Most runs that are prepared beyond these rounds: look-ups and reads cost the store the same for one trace and for a batch. */
const MAX_BATCH = 200;

interface WaitingRun {
  readonly sinceMs: number;
  /** Never rejects. */
  readonly start: () => Promise<void>;
}

export function createJudgeStock({ concurrency, newestShare, monotonicMs }: JudgeStockOptions): JudgeStock {
  const low = ROUNDS * concurrency;
  const high = low + Math.min(MAX_BATCH, ROUNDS * low);
  const places = new PQueue({ concurrency });
  const waiting: Record<StockEnd, WaitingRun[]> = { newest: [], oldest: [] };
  const pending: Record<StockEnd, number> = { newest: 0, oldest: 0 };
  const listeners: (() => void)[] = [];
  let credit = 0;

  const countPending = (end?: StockEnd) =>
    end === undefined ? pending.newest + pending.oldest : pending[end];

  /** Takes the newest run as often as the share says, else the oldest one, so that no run waits for ever. */
  function takeNext(): WaitingRun | undefined {
    credit += newestShare;
    if (credit >= 1) {
      credit -= 1;
      return waiting.newest.pop() ?? waiting.oldest.shift();
    }
    return waiting.oldest.shift() ?? waiting.newest.shift();
  }

  return {
    concurrency,
    low,
    high,
    pending: countPending,
    async run(end, call) {
      pending[end] += 1;
      try {
        return await new Promise((resolve, reject) => {
          const start = () => call().then(resolve, reject);
          waiting[end].push({ sinceMs: monotonicMs(), start });
          void places.add(() => takeNext()?.start());
        });
      } finally {
        pending[end] -= 1;
        if (countPending() < low) {
          listeners.forEach((listener) => listener());
        }
      }
    },
    waitMs() {
      const first = [...waiting.newest, ...waiting.oldest].map(({ sinceMs }) => sinceMs);
      return first.length === 0 ? 0 : monotonicMs() - Math.min(...first);
    },
    onLow: (listener) => void listeners.push(listener),
  };
}
