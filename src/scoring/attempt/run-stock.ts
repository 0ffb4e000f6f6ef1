/** End of a backlog: part of the places take the newest traces, so that alerts stay timely, and the rest the oldest. */
export type StockEnd = 'newest' | 'oldest';

/** Runs of slow scorers that are prepared, with their content in memory, and wait for a place, or have one. */
export interface RunStock {
  /** Number of runs that wait or have a place; of one end, or of both. */
  pending(end?: StockEnd): number;
  /** Number of runs below which more runs should be prepared. */
  readonly low: number;
  /** Number of runs from which on no more runs should be prepared. */
  readonly high: number;
}

/** Runs of one pass that found no room in one stock. */
export interface LeftRuns {
  readonly stock: RunStock;
  readonly runs: number;
}

/** Room in a stock that is set aside for the runs of one trace. */
export interface Room {
  readonly stock: RunStock;
  /** Places that the runs may use. */
  readonly end: StockEnd;
  /** Gives the room back: the runs are in the stock, or do not come. A second call does nothing. */
  release(): void;
}

/** Decides whether a pass may add runs to a stock. */
export interface Admission {
  /** Sets room aside for runs; null when the stock has none. */
  admit(stock: RunStock, runs: number): Room | null;
}
