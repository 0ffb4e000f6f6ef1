import PQueue from 'p-queue';
import type { JudgeStock } from '../scoring/attempt/judge-stock.ts';

/**
 * Returns a stock that uses a part of the places of another one, at least one of them. The other places stay free for live scoring.
 * @param share above 0 and at most 1
 */
export function shareStock(stock: JudgeStock, share: number): JudgeStock {
  const queue = new PQueue({ concurrency: Math.max(1, Math.floor(stock.concurrency * share)) });
  return { ...stock, run: (end, call) => queue.add(() => stock.run(end, call)) };
}
