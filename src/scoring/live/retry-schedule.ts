import { joinTraceKey } from '../../store/contracts/stores.ts';
import type { WorkItem } from '../score-traces.ts';

/** Most retries that are remembered; the sweep finds the rest when they are due. */
const MAX_SCHEDULED = 50_000;

/** Traces to look at again at a moment of the store's clock. Only for speed: every one of them is in the store too. */
export interface RetrySchedule {
  /** Of two moments for one trace the earlier counts. */
  add(item: WorkItem, atMs: number): void;
  /** Takes out what is due. */
  due(nowMs: number): WorkItem[];
  size(): number;
  /** The earliest moment, null when nothing is scheduled. */
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
