import PQueue from 'p-queue';

/** Limits the number of judged scorers that run at the same time, and of the runs that wait in memory. */
export interface JudgePool {
  /** Runs the call when there is a free place. */
  run<T>(call: () => Promise<T>): Promise<T>;
  /** Returns true when no more runs may wait. */
  isFull(): boolean;
  pending(): number;
}

/** Creates a pool. `concurrency` should be what the providers allow: the time limit of a scorer starts when it leaves the queue. */
export function createJudgePool(options: { concurrency: number; maxWaiting: number }): JudgePool {
  const queue = new PQueue({ concurrency: options.concurrency });
  return {
    run: (call) => queue.add(call),
    isFull: () => queue.size >= options.maxWaiting,
    pending: () => queue.size + queue.pending,
  };
}
