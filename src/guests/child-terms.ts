/** Settings of the thread that watches a guest. */
export interface WatchOrder {
  /** The most resident memory that the process may have. */
  readonly memoryBytes: number;
  readonly parentPid: number;
  /** Its first number is above 0 while the guest has work. */
  readonly busy: Int32Array;
}

/** The pipe on which the thread tells its host how much memory it saw. */
export const WATCH_FD = 4;

/** Interval of the thread's checks while the guest has work, milliseconds. */
export const BUSY_LOOK_MS = 50;

/** And while it has none. */
export const IDLE_LOOK_MS = 1_000;

/** The beginning of the last line that a process prints when its code threw where nobody could catch it. */
export const UNCAUGHT = 'an exception that nobody caught';

/** The priority of a guest: below the receivers and the engine, so that it never takes their time. */
export const GUEST_NICE = 10;
