/**
 * A thread beside the code of an own scorer, which may loop for ever. It ends the process when the process exceeds its memory,
 * or when its host has ended.
 */
import { writeSync } from 'node:fs';
import { isMainThread, Worker, workerData } from 'node:worker_threads';

/** Settings of the thread. */
interface WatchOrder {
  /** Largest resident memory of the process, bytes. */
  readonly memoryBytes: number;
  /** File descriptor of the pipe through which the thread reports the memory to the host. */
  readonly fd: number;
  readonly parentPid: number;
  /** First number: above 0 while the process has work. */
  readonly busy: Int32Array;
}

/** Interval of the checks while the process has work, milliseconds. */
const BUSY_LOOK_MS = 50;

/** Interval of the checks while the process has no work, milliseconds. */
const IDLE_LOOK_MS = 1_000;

/** Starts the thread. */
export function startWatch(settings: Omit<WatchOrder, 'parentPid'>): void {
  const order: WatchOrder = { ...settings, parentPid: process.ppid };
  const watch = new Worker(new URL(import.meta.url), {
    workerData: order,
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  });
  watch.unref();
}

/** Ends this process and the processes that its scorer has started: they are one process group. */
export function endGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    // A system without process groups.
  }
  process.kill(process.pid, 'SIGKILL');
}

function look({ memoryBytes, fd, parentPid }: WatchOrder): void {
  const resident = process.memoryUsage.rss();
  if (resident > memoryBytes) {
    writeSync(fd, `${resident}\n`);
  } else if (process.ppid === parentPid) {
    return;
  }
  endGroup();
}

if (!isMainThread) {
  const order = workerData as WatchOrder;
  for (;;) {
    // Without work, the thread sleeps until work arrives.
    Atomics.wait(order.busy, 0, 0, IDLE_LOOK_MS);
    Atomics.wait(order.busy, 1, 0, BUSY_LOOK_MS);
    look(order);
  }
}
