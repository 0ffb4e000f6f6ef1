import { joinTraceKey } from '../../store/contracts/stores.ts';
import type { WorkItem } from '../score-traces.ts';
import { mergeItems } from './work-queue.ts';

/** Most retries in memory. The sweep finds the others when they are due. */
const MAX_SCHEDULED = 50_000;

/** Traces to score again at times of the store's clock. It only makes retries fast: the process finds them in the store too. */
export interface RetrySchedule {
  /** Adds a retry. A trace may have several: its scorers are deferred to times of their own. */
  add(item: WorkItem, atMs: number): void;
  /** Takes out the retries that are due and returns their traces, each once. */
  due(nowMs: number): WorkItem[];
  /** Number of traces. */
  size(): number;
  /** Returns the earliest time; null when nothing is scheduled. */
  nextMs(): number | null;
}

interface Entry {
  readonly item: WorkItem;
  readonly times: ReadonlySet<number>;
}

export function createRetrySchedule(maxScheduled: number = MAX_SCHEDULED): RetrySchedule {
  const entries = new Map<string, Entry>();
  let earliestMs = Infinity;

  return {
    add(item, atMs) {
      const key = joinTraceKey(item);
      const known = entries.get(key);
      if (known === undefined && entries.size >= maxScheduled) {
        return;
      }
      entries.set(key, { item: mergeItems(known?.item, item), times: new Set(known?.times).add(atMs) });
      earliestMs = Math.min(earliestMs, atMs);
    },
    due(nowMs) {
      if (nowMs < earliestMs) {
        return [];
      }
      const due: WorkItem[] = [];
      earliestMs = Infinity;
      for (const [key, { item, times }] of entries) {
        const later = [...times].filter((atMs) => atMs > nowMs);
        const readyAtMs = Math.min(item.readyAtMs ?? Infinity, ...times);
        earliestMs = Math.min(earliestMs, ...later);
        if (later.length === times.size) {
          continue;
        }
        due.push({ ...item, readyAtMs });
        if (later.length === 0) {
          entries.delete(key);
        } else {
          entries.set(key, { item: { ...item, reread: false, readyAtMs: undefined }, times: new Set(later) });
        }
      }
      return due;
    },
    size: () => entries.size,
    nextMs: () => (Number.isFinite(earliestMs) ? earliestMs : null),
  };
}
