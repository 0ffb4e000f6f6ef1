import PQueue from 'p-queue';

/** Bounds how many judged scorers run at once, and how many runs of agents wait for them in memory. */
export interface JudgePool {
  /** Waits for a place. */
  run<T>(call: () => Promise<T>): Promise<T>;
  /** True when as many wait as may. */
  isFull(): boolean;
  pending(): number;
}

/** `concurrency` should be what the providers allow: a scorer's time limit starts when it leaves this queue. */
export function createJudgePool(options: { concurrency: number; maxWaiting: number }): JudgePool {
  const queue = new PQueue({ concurrency: options.concurrency });
  return {
    run: (call) => queue.add(call),
    isFull: () => queue.size >= options.maxWaiting,
    pending: () => queue.size + queue.pending,
  };
}
