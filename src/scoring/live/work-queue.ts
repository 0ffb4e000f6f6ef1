import { joinTraceKey } from '../../store/contracts/stores.ts';
import type { WorkItem } from '../score-traces.ts';

/** Most traces in the queue. The sweep finds the traces beyond it. */
const MAX_QUEUED = 50_000;

/** Urgency of a trace: traces that became ready now go before traces of a sweep. */
export type Urgency = 'live' | 'sweep';

/** Traces to score, each at most once at a time. */
export interface WorkQueue {
  /** Adds a trace. Returns false when the queue is full. A trace under way is queued again after it is done. */
  push(item: WorkItem, urgency: Urgency): boolean;
  /** Takes up to `limit` traces; they are under way until `done`. */
  take(limit: number): WorkItem[];
  done(items: readonly WorkItem[]): void;
  queued(): number;
  inFlight(): number;
  /** Empties the queue. Traces under way stay. */
  clear(): void;
}

export function createWorkQueue(maxQueued: number = MAX_QUEUED): WorkQueue {
  const queues: Record<Urgency, Map<string, WorkItem>> = { live: new Map(), sweep: new Map() };
  const running = new Set<string>();
  const again = new Map<string, NextRun>();

  const queued = () => queues.live.size + queues.sweep.size;

  function push(item: WorkItem, urgency: Urgency): boolean {
    const key = joinTraceKey(item);
    if (running.has(key)) {
      // A sweep, too, may find work that the run under way leaves out: the trace's other scorers may have come to this process.
      again.set(key, mergeNext(again.get(key), { item, urgency }));
      return true;
    }
    const earlier = queues.live.get(key) ?? queues.sweep.get(key);
    if (earlier === undefined && queued() >= maxQueued) {
      return false;
    }
    const target = queues.live.has(key) ? 'live' : urgency;
    queues.sweep.delete(key);
    queues[target].set(key, merge(earlier, item));
    return true;
  }

  function take(limit: number): WorkItem[] {
    const taken: WorkItem[] = [];
    for (const queue of [queues.live, queues.sweep]) {
      for (const [key, item] of queue) {
        if (taken.length >= limit) {
          return taken;
        }
        queue.delete(key);
        running.add(key);
        taken.push(item);
      }
    }
    return taken;
  }

  function done(items: readonly WorkItem[]): void {
    for (const item of items) {
      const key = joinTraceKey(item);
      running.delete(key);
      const next = again.get(key);
      if (next !== undefined) {
        again.delete(key);
        push(next.item, next.urgency);
      }
    }
  }

  return {
    push,
    take,
    done,
    queued,
    inFlight: () => running.size,
    clear() {
      queues.live.clear();
      queues.sweep.clear();
      again.clear();
    },
  };
}

/** A run that follows the run under way. */
interface NextRun {
  readonly item: WorkItem;
  readonly urgency: Urgency;
}

function mergeNext(earlier: NextRun | undefined, next: NextRun): NextRun {
  const urgency = earlier?.urgency === 'live' ? 'live' : next.urgency;
  return { item: merge(earlier?.item, next.item), urgency };
}

function merge(earlier: WorkItem | undefined, item: WorkItem): WorkItem {
  return earlier?.reread === true ? { ...item, reread: true } : item;
}
