import type { TraceData } from '../../domain/trace/span.ts';
import { AppError } from '../../domain/errors.ts';
import { joinTraceKey, type SpanSource, type TraceKey } from '../../store/contracts/stores.ts';
import PQueue from 'p-queue';
import { MIB } from '../../domain/byte-sizes.ts';
import type { RunSlots } from '../live/queue.ts';

/** Data of a trace, or the reason why it cannot be read. */
export type ReadTrace =
  | { readonly key: TraceKey; readonly data: TraceData }
  | { readonly key: TraceKey; readonly error: AppError };

/**
 * Reads many traces in few queries, while there is room in memory (by default without a limit). The caller
 * releases the memory of each trace. A slice that the
 * store refuses is halved, down to the one trace that cannot be read. Throws only when the store cannot be reached.
 */
export async function* readSlices(
  spans: Pick<SpanSource, 'read'>,
  keys: readonly TraceKey[],
  memory = new ReadMemory(Infinity),
): AsyncGenerator<readonly ReadTrace[]> {
  for (let start = 0; start < keys.length;) {
    await memory.waitForRoom();
    const slice = keys.slice(start, start + memory.nextReadSize());
    const read = await readSlice(spans, slice);
    memory.add(read.flatMap((each) => ('data' in each ? [each.data] : [])));
    yield read;
    start += slice.length;
  }
}

async function readSlice(spans: Pick<SpanSource, 'read'>, keys: readonly TraceKey[]): Promise<ReadTrace[]> {
  try {
    const found = await spans.read(keys);
    return keys.map((key) => ({
      key,
      data: found.get(joinTraceKey(key)) ?? { traceId: key.traceId, spans: [], logs: [] },
    }));
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'store_unavailable') {
      throw error;
    }
    const [only] = keys;
    if (keys.length === 1 && only !== undefined) {
      return [{ key: only, error }];
    }
    const half = Math.ceil(keys.length / 2);
    const first = await readSlice(spans, keys.slice(0, half));
    return [...first, ...(await readSlice(spans, keys.slice(half)))];
  }
}

/** Sizes of content from which on no more is read, in characters of the stored rows: for quick scorers, and for each slots of slow ones. */
const MAX_QUICK = 128 * MIB;
const MAX_SLOW = 96 * MIB;

/** Batches that are read for one slots at the same time. */
const SLOW_READS_AT_ONCE = 2;

/** Size that one read should return at most: it fits into memory beside reads of other batches. */
const MAX_PER_READ = 16 * MIB;

/** Spans that one read should return at most. */
const MAX_SPANS_PER_READ = 20_000;

/** Most traces of one read. */
const MAX_TRACES_PER_READ = 1_000;

/** Traces of the first read, while their size is unknown. */
const FIRST_READ = 50;

/** Weight of the last read in the mean size of a trace. */
const SMOOTHING = 0.5;

/** Memory of the content that some batches have read and still use. */
export class ReadMemory {
  readonly #maxHeld: number;
  readonly #waiting: (() => void)[] = [];
  readonly #held = new Set<TraceData>();
  #heldSize = 0;
  #mean: { readonly size: number; readonly spans: number } | null = null;

  constructor(maxHeld: number) {
    this.#maxHeld = maxHeld;
  }

  /** Returns false while the content in use is above the limit. */
  hasRoom(): boolean {
    return this.#heldSize <= this.#maxHeld;
  }

  /** Waits until the content in use is below the limit. */
  async waitForRoom(): Promise<void> {
    while (!this.hasRoom()) {
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    }
    // The next waiter looks, too: what this one reads may leave room.
    this.#wakeNext();
  }

  /** Number of traces that the next read should ask for: the smaller the last traces, the more. */
  nextReadSize(): number {
    if (this.#mean === null) {
      return FIRST_READ;
    }
    const { size, spans } = this.#mean;
    const most = Math.min(MAX_TRACES_PER_READ, MAX_SPANS_PER_READ / spans, MAX_PER_READ / Math.max(1, size));
    return Math.max(1, Math.floor(most));
  }

  add(read: readonly TraceData[]): void {
    const size = read.reduce((sum, data) => sum + (data.size ?? 0), 0);
    const spans = read.reduce((sum, data) => sum + data.spans.length, 0);
    read.forEach((data) => this.#held.add(data));
    this.#heldSize += size;
    if (read.length > 0) {
      const last = { size: size / read.length, spans: Math.max(1, spans / read.length) };
      const mean = this.#mean ?? last;
      this.#mean = { size: blend(mean.size, last.size), spans: blend(mean.spans, last.spans) };
    }
  }

  /** Removes the content of a trace that is done. Returns false when it is not in this memory. */
  release(data: TraceData): boolean {
    const isHeld = this.#held.delete(data);
    if (isHeld) {
      this.#heldSize -= data.size ?? 0;
      this.#wakeNext();
    }
    return isHeld;
  }

  #wakeNext(): void {
    if (this.hasRoom()) {
      this.#waiting.shift()?.();
    }
  }
}

/** Content in parts: content that waits for slow scorers never stops the reads for quick ones, or for slow ones of another slots. */
export class ContentMemory {
  /** Content of traces that no slow scorer waits for. */
  readonly quick: ReadMemory;
  readonly #parts = new Map<RunSlots, { readonly memory: ReadMemory; readonly turns: PQueue }>();

  /** @param maxQuick size of the content of quick scorers from which on no more of it is read */
  constructor(maxQuick = MAX_QUICK) {
    this.quick = new ReadMemory(maxQuick);
  }

  /** Returns the part of the traces whose runs have slots, and the turns of the batches that are read into it. */
  slow(slots: RunSlots): { readonly memory: ReadMemory; readonly turns: PQueue } {
    const part = this.#parts.get(slots) ?? {
      memory: new ReadMemory(MAX_SLOW),
      turns: new PQueue({ concurrency: SLOW_READS_AT_ONCE }),
    };
    this.#parts.set(slots, part);
    return part;
  }

  /** Moves content from the quick part to the part of slots. Does nothing with other content. */
  moveToSlow(data: TraceData, slots: RunSlots): void {
    if (this.quick.release(data)) {
      this.slow(slots).memory.add([data]);
    }
  }

  release(data: TraceData): void {
    void (this.quick.release(data) || [...this.#parts.values()].some(({ memory }) => memory.release(data)));
  }
}

/** Blends a mean with the last value. A larger value counts at once: it is what fills the memory. */
function blend(mean: number, last: number): number {
  return Math.max(last, mean + SMOOTHING * (last - mean));
}
