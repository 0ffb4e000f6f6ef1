/** Hour of the scores of a tenant. */
export interface TouchedHour {
  readonly tenant: string;
  /** Start of the hour, Unix milliseconds. */
  readonly hourMs: number;
  /** Rows of the hour that were written, about. */
  readonly rows: number;
}

/** Computes the aggregates of scores. Every write can be repeated. Times are Unix milliseconds by the store's clock. */
export interface AggregateStore {
  nowMs(): Promise<number>;
  /** Returns the time up to which all written scores are in the aggregates; null before the first pass. */
  doneUntil(): Promise<number | null>;
  markDone(untilMs: number): Promise<void>;
  /** Lists the hours whose scores were written, moved or deleted since a time, in the order of time. */
  touchedSince(sinceMs: number): Promise<TouchedHour[]>;
  /** Lists every hour that has scores or aggregates. */
  allHours(): Promise<TouchedHour[]>;
  /** Computes hours, and their days, from the current scores, and replaces what was there. */
  compute(hours: readonly TouchedHour[]): Promise<void>;
}
