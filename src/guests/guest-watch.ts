/**
 * A thread beside the code of an own scorer, which may loop for ever. It ends the process when the process exceeds its memory,
 * or when its host has ended.
 */
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { BUSY_LOOK_MS, endGroup, IDLE_LOOK_MS, WATCH_FD, type WatchOrder } from './child-terms.ts';

const { memoryBytes, parentPid, busy } = workerData as WatchOrder;

function look(): void {
  const resident = process.memoryUsage.rss();
  if (resident > memoryBytes) {
    writeSync(WATCH_FD, `${resident}\n`);
  } else if (process.ppid === parentPid) {
    return;
  }
  endGroup();
}

for (;;) {
  // Without work, the thread sleeps until work arrives.
  Atomics.wait(busy, 0, 0, IDLE_LOOK_MS);
  Atomics.wait(busy, 1, 0, BUSY_LOOK_MS);
  look();
}
