import { ConfigError } from '../domain/errors.ts';
import type { PurgedTraces, StoredTombstone, TombstoneStore } from '../store/contracts/purge.ts';
import type { Log } from '../telemetry/log.ts';
import type { PurgeKey } from './purge-key.ts';

/** Size of the unsorted part from which on it is merged into the sorted one. */
const MAX_RECENT = 10_000;

/** Interval between reads of new tombstones, milliseconds. */
const READ_EVERY_MS = 2_000;

/** Age of the last read from which on a write waits for another one, milliseconds. */
const MAX_AGE_MS = 5_000;

/** Longest time from the stamp of an insert until its rows are visible, milliseconds. */
const OVERLAP_MS = 45_000;

export interface PurgedTracesDeps {
  readonly tombstones: TombstoneStore;
  /** Clock of the store, Unix milliseconds. */
  readonly nowMs: () => Promise<number>;
  readonly key: PurgeKey;
  readonly log: Log;
}

/** Purged traces that are read again and again. */
export interface WatchedTraces extends PurgedTraces {
  /** Calls a listener after each read that found new tombstones. */
  onPurge(listener: () => void): void;
  /** Returns the time of the last purge of a user, Unix milliseconds by the store's clock; undefined for a user who was not purged. */
  findUser(tenant: string, userId: string): number | undefined;
  /** Throws a `ConfigError` when tombstones have another key than this process. */
  check(): Promise<void>;
  stop(): void;
}

/**
 * Reads all tombstones, then the new ones every 2 s. Throws a `ConfigError` when there are tombstones of another key: this process could
 * not recognise their traces.
 */
export async function watchPurgedTraces(deps: PurgedTracesDeps): Promise<WatchedTraces> {
  const watch = new TombstoneWatch(deps);
  await watch.renew();
  await watch.check();
  watch.start();
  return watch;
}

class TombstoneWatch implements WatchedTraces {
  readonly #deps: PurgedTracesDeps;
  readonly #hashes = createHashSet();
  /** Last deletion of rows of each session: its time, and the count of tombstones at that moment. By hash. */
  readonly #sessions = new Map<string, { readonly atMs: number; readonly count: number }>();
  /** Time of the last purge of each user, by hash. */
  readonly #users = new Map<string, number>();
  readonly #listeners: (() => void)[] = [];
  #count = 0;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #sinceMs = 0;
  #hasOtherKey = false;
  #reading: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: PurgedTracesDeps) {
    this.#deps = deps;
  }

  get isEmpty(): boolean {
    return this.#hashes.size === 0;
  }

  start(): void {
    // A write that needs a younger read repeats it and shows the failure.
    this.#timer = setInterval(() => void this.#read().catch(() => undefined), READ_EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  has({ tenant, traceId }: { readonly tenant: string; readonly traceId: string }): boolean {
    return !this.isEmpty && this.#hashes.has(this.#deps.key.compute('trace', tenant, traceId));
  }

  renew(): Promise<void> | undefined {
    return performance.now() - this.#readAtMs <= MAX_AGE_MS ? undefined : this.#read();
  }

  mark(): number {
    return this.#count;
  }

  isTouched(
    { tenant, sessionId }: { readonly tenant: string; readonly sessionId: string },
    mark: number,
  ): boolean {
    if (this.#count === mark) {
      return false;
    }
    const deleted = this.#sessions.get(this.#deps.key.compute('session', tenant, sessionId));
    return deleted !== undefined && deleted.count > mark;
  }

  findUser(tenant: string, userId: string): number | undefined {
    return this.#users.size === 0 || userId === ''
      ? undefined
      : this.#users.get(this.#deps.key.compute('user', tenant, userId));
  }

  onPurge(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async check(): Promise<void> {
    if (this.#hasOtherKey) {
      throw new ConfigError(
        'the store has tombstones of purged traces with another key, which this process cannot recognise: give every process on this store the same store.purgeKey, or the file purge.key of the process that purged',
      );
    }
  }

  /** Reads once for all callers at the same time. */
  #read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const startedAtMs = performance.now();
    const nowMs = await this.#deps.nowMs();
    const before = this.#count;
    for await (const batch of this.#deps.tombstones.read(this.#sinceMs)) {
      batch.forEach((tombstone) => this.#add(tombstone));
    }
    this.#readAtMs = startedAtMs;
    this.#sinceMs = nowMs - OVERLAP_MS;
    if (this.#count > before) {
      this.#listeners.forEach((listener) => listener());
    }
  }

  #add({ kind, hash, keyId, atMs }: StoredTombstone): void {
    if (keyId !== this.#deps.key.keyId) {
      if (!this.#hasOtherKey) {
        this.#deps.log.error(
          'tombstones of another key cannot be recognised: purged traces may be stored again',
          { keyId },
        );
      }
      this.#hasOtherKey = true;
    } else if (kind === 'trace' && this.#hashes.add(hash)) {
      this.#count += 1;
    } else if (kind === 'user') {
      this.#users.set(hash, Math.max(atMs, this.#users.get(hash) ?? 0));
    } else if (kind === 'session' && (this.#sessions.get(hash)?.atMs ?? 0) < atMs) {
      this.#count += 1;
      this.#sessions.set(hash, { atMs, count: this.#count });
    }
  }
}

/** Set of hashes in hex. It keeps the first 64 bits of each: 8 bytes a hash. */
interface HashSet {
  readonly size: number;
  has(hash: string): boolean;
  /** Returns false for a hash that it has. */
  add(hash: string): boolean;
}

/** Creates an empty set. */
export function createHashSet(): HashSet {
  let sorted = new BigUint64Array(0);
  const recent = new Set<bigint>();

  const isSorted = (value: bigint): boolean => {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sorted[middle] as bigint) < value) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return sorted[low] === value;
  };
  const holds = (value: bigint): boolean => recent.has(value) || isSorted(value);

  return {
    get size() {
      return sorted.length + recent.size;
    },
    has: (hash) => holds(shorten(hash)),
    add(hash) {
      const value = shorten(hash);
      if (holds(value)) {
        return false;
      }
      recent.add(value);
      if (recent.size >= MAX_RECENT) {
        sorted = new BigUint64Array([...sorted, ...recent]).sort();
        recent.clear();
      }
      return true;
    },
  };
}

function shorten(hash: string): bigint {
  return BigInt(`0x${hash.slice(0, 16)}`);
}
