import { joinTraceKey } from '../../store/contracts/stores.ts';
import type { WorkItem } from '../score-traces.ts';

/** Most retries in memory. The sweep finds the others when they are due. */
const MAX_SCHEDULED = 50_000;

/** Traces to score again at a time of the store's clock. It only makes retries fast: the sweep finds them in the store too. */
export interface RetrySchedule {
  /** Adds a retry. Of two times for one trace the earlier counts. */
  add(item: WorkItem, atMs: number): void;
  /** Takes out the retries that are due and returns them. */
  due(nowMs: number): WorkItem[];
  size(): number;
  /** Returns the earliest time; null when nothing is scheduled. */
  nextMs(): number | null;
}

export function createRetrySchedule(maxScheduled: number = MAX_SCHEDULED): RetrySchedule {
  const entries = new Map<string, { item: WorkItem; atMs: number }>();
  let earliestMs = Infinity;

  return {
    add(item, atMs) {
      const key = joinTraceKey(item);
      const known = entries.get(key);
      if (known === undefined && entries.size >= maxScheduled) {
        return;
      }
      const reread = item.reread === true || known?.item.reread === true;
      const at = Math.min(atMs, known?.atMs ?? Infinity);
      entries.set(key, { item: { tenant: item.tenant, traceId: item.traceId, reread }, atMs: at });
      earliestMs = Math.min(earliestMs, at);
    },
    due(nowMs) {
      if (nowMs < earliestMs) {
        return [];
      }
      const due: WorkItem[] = [];
      earliestMs = Infinity;
      for (const [key, entry] of entries) {
        if (entry.atMs <= nowMs) {
          entries.delete(key);
          due.push(entry.item);
        } else {
          earliestMs = Math.min(earliestMs, entry.atMs);
        }
      }
      return due;
    },
    size: () => entries.size,
    nextMs: () => (Number.isFinite(earliestMs) ? earliestMs : null),
  };
}
