import type { TraceData } from '../../domain/trace/span.ts';
import { MIB } from '../../domain/byte-sizes.ts';

/** Size of content in memory from which on no more is read, in characters of the stored rows. */
const MAX_HELD = 256 * MIB;

/** Size that one read should return at most: it fits into memory beside reads of other batches. */
const MAX_PER_READ = 32 * MIB;

/** Spans that one read should return at most. */
const MAX_SPANS_PER_READ = 20_000;

/** Most traces of one read. */
const MAX_TRACES_PER_READ = 1_000;

/** Traces of the first read, while their size is unknown. */
const FIRST_READ = 50;

/** Weight of the last read in the mean size of a trace. */
const SMOOTHING = 0.5;

/** Memory of the content that all batches of a process have read and still use. */
export interface ReadMemory {
  /** Waits until the content in use is below the limit. */
  waitForRoom(): Promise<void>;
  /** Number of traces that the next read should ask for: the smaller the last traces, the more. */
  nextReadSize(): number;
  /** Adds the content of a read. */
  add(read: readonly TraceData[]): void;
  /** Removes the content of a trace that is done. */
  release(data: TraceData): void;
  /** Size of the content in use, in characters of the stored rows. */
  heldSize(): number;
}

export function createReadMemory(maxHeld: number = MAX_HELD): ReadMemory {
  const waiting: (() => void)[] = [];
  let held = 0;
  let mean: { readonly size: number; readonly spans: number } | null = null;

  const isFull = () => held > maxHeld;
  const wakeNext = () => {
    if (!isFull()) {
      waiting.shift()?.();
    }
  };

  return {
    async waitForRoom() {
      while (isFull()) {
        await new Promise<void>((resolve) => void waiting.push(resolve));
      }
      // The next waiter looks, too: what this one reads may leave room.
      wakeNext();
    },
    nextReadSize() {
      if (mean === null) {
        return FIRST_READ;
      }
      const most = Math.min(
        MAX_TRACES_PER_READ,
        MAX_SPANS_PER_READ / mean.spans,
        MAX_PER_READ / Math.max(1, mean.size),
      );
      return Math.max(1, Math.floor(most));
    },
    add(read) {
      const size = read.reduce((sum, data) => sum + (data.size ?? 0), 0);
      const spans = read.reduce((sum, data) => sum + data.spans.length, 0);
      held += size;
      if (read.length > 0) {
        const last = { size: size / read.length, spans: Math.max(1, spans / read.length) };
        mean =
          mean === null ? last : { size: blend(mean.size, last.size), spans: blend(mean.spans, last.spans) };
      }
    },
    release(data) {
      held -= data.size ?? 0;
      wakeNext();
    },
    heldSize: () => held,
  };
}

/** Blends a mean with the last value. A larger value counts at once: it is what fills the memory. */
function blend(mean: number, last: number): number {
  return Math.max(last, mean + SMOOTHING * (last - mean));
}
