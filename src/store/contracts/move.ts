/** Range of the store's stamps, Unix milliseconds: `fromMs` ≤ stamp < `untilMs`. */
export interface StampRange {
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface PassOptions {
  /** True when nobody writes to the source: both stores must be equal at the end. */
  readonly isLast: boolean;
  /** Called before each copy. It may throw to end the pass. */
  readonly onProgress: (table: string) => void;
}

/** Copies of the rows of one store in another one. */
export interface MoveStore {
  /** Returns true for a target with tables that no command has to finish. */
  isComplete(): Promise<boolean>;
  /**
   * Prepares the target: a new database with all tables, whose views are off. Continues a move that was interrupted. Throws for a
   * database that is in use, for another schema, and for clocks that differ.
   */
  prepare(): Promise<void>;
  /** Reads the clock of the source, Unix milliseconds. */
  nowMs(): Promise<number>;
  /**
   * Compares some ranges, which are in the order of time, and copies the rows of the parts that differ. Rows without a stamp are compared as a whole.
   * Throws in the last pass when the stores cannot be made equal. Returns the number of copied rows.
   */
  copy(ranges: readonly StampRange[], options: PassOptions): Promise<number>;
  /** Turns the views of the target on, and lets every process open it. */
  finish(): Promise<void>;
  close(): Promise<void>;
}
