/** Settings of the thread that watches a process of an own scorer. */
export interface WatchOrder {
  /** Largest resident memory of the process, bytes. */
  readonly memoryBytes: number;
  readonly parentPid: number;
  /** First number: above 0 while the process has work. */
  readonly busy: Int32Array;
}

/** File descriptor on which the process and its host exchange messages (`frames.ts`). */
export const MESSAGE_FD = 3;

/** File descriptor of the pipe through which the thread reports the memory to the host. */
export const WATCH_FD = 4;

/** Interval of the thread's checks while the guest has work, milliseconds. */
export const BUSY_LOOK_MS = 50;

/** Interval of the thread's checks while the process has no work, milliseconds. */
export const IDLE_LOOK_MS = 1_000;

/** Ends this process and the processes that its scorer has started: they are one process group. */
export function endGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    // A system without process groups.
  }
  process.kill(process.pid, 'SIGKILL');
}

/** Beginning of the last line that a process prints when its code threw an exception outside of any handler. */
export const UNCAUGHT = 'an exception that nobody caught';

/** Priority of the process: below receivers and engine, so that it takes no processor time from them. */
export const GUEST_NICE = 10;
