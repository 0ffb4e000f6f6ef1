import { ConfigError } from '../domain/errors.ts';
import type { RunRecord } from '../domain/run-record.ts';
import type { PurgedTraces, StoredTombstone } from '../store/contracts/purge.ts';
import type { TombstoneStore } from '../store/purge/purge-store.ts';
import type { Store } from '../store/store.ts';
import type { SpanSource, TraceKey } from '../store/contracts/stores.ts';
import type { Log } from '../telemetry/log.ts';
import type { PurgeKey } from './purge-key.ts';

/** Size of the unsorted part from which on it is merged into the sorted one. */
const MAX_RECENT = 10_000;

/** Interval between reads of new tombstones, milliseconds. */
const READ_EVERY_MS = 4_000;

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

/**
 * Reads all tombstones, then the new ones every 4 s. Throws a `ConfigError` when there are tombstones of another key: this process could
 * not recognise their traces.
 */
export async function watchPurgedTraces(deps: PurgedTracesDeps): Promise<WatchedTraces> {
  const watch = new WatchedTraces(deps);
  await watch.renew();
  await watch.check();
  watch.start();
  return watch;
}

/** Purged traces that are read again and again. */
export class WatchedTraces implements PurgedTraces {
  readonly #deps: PurgedTracesDeps;
  readonly #hashes = new HashSet();
  /** Last deletion of rows of each session: its time, and the count of tombstones at that moment. By hash. */
  readonly #sessions = new Map<string, { readonly atMs: number; readonly count: number }>();
  /** Time of the last purge of each user, by hash. */
  readonly #users = new Map<string, number>();
  readonly #listeners: (() => void)[] = [];
  #count = 0;
  /** Count of which the listeners have heard: a read may fail behind its first tombstones. */
  #toldCount = 0;
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

  /** Returns the time of the last purge of a user, Unix milliseconds by the store's clock; undefined for a user who was not purged. */
  findUser(tenant: string, userId: string): number | undefined {
    return this.#users.size === 0 || userId === ''
      ? undefined
      : this.#users.get(this.#deps.key.compute('user', tenant, userId));
  }

  /** Calls a listener after each read that found new tombstones. */
  onPurge(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Throws a `ConfigError` when tombstones have another key than this process. */
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
    for await (const batch of this.#deps.tombstones.read(this.#sinceMs)) {
      batch.forEach((tombstone) => this.#add(tombstone));
    }
    this.#readAtMs = startedAtMs;
    this.#sinceMs = nowMs - OVERLAP_MS;
    if (this.#count > this.#toldCount) {
      this.#toldCount = this.#count;
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
export class HashSet {
  #sorted = new BigUint64Array(0);
  readonly #recent = new Set<bigint>();

  get size(): number {
    return this.#sorted.length + this.#recent.size;
  }

  has(hash: string): boolean {
    const value = shorten(hash);
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle] as bigint) < value) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return this.#sorted[low] === value || this.#recent.has(value);
  }

  /** Returns false for a hash that it has. */
  add(hash: string): boolean {
    if (this.has(hash)) {
      return false;
    }
    this.#recent.add(shorten(hash));
    if (this.#recent.size >= MAX_RECENT) {
      this.#sorted = new BigUint64Array([...this.#sorted, ...this.#recent]).sort();
      this.#recent.clear();
    }
    return true;
  }
}

function shorten(hash: string): bigint {
  return BigInt(`0x${hash.slice(0, 16)}`);
}

/** Parts of a store through which scoring reads and writes traces. */
type ScoredParts = Pick<Store, 'spans' | 'decisions' | 'scores' | 'runs' | 'failures' | 'judgeCalls'>;

/**
 * Returns a store whose reads find no purged trace, and whose writes leave out rows of purged traces. Each write knows the tombstones of
 * 5 s before it.
 * @param onRuns called before runs are written
 */
export function withoutPurged<Parts extends ScoredParts>(
  store: Parts,
  purged: PurgedTraces,
  onRuns: (records: readonly RunRecord[]) => Promise<void> = async () => undefined,
): Parts {
  const { spans, decisions, scores, runs, failures, judgeCalls } = store;
  const keep = <Row extends TraceKey>(rows: readonly Row[]): Row[] =>
    purged.isEmpty ? [...rows] : rows.filter((row) => row.traceId === '' || !purged.has(row));
  const guard =
    <Row extends TraceKey>(write: (rows: readonly Row[]) => Promise<void>) =>
    async (rows: readonly Row[]): Promise<void> => {
      await purged.renew();
      await write(keep(rows));
    };
  return {
    ...store,
    spans: withoutPurgedSpans(spans, keep),
    decisions: {
      ...decisions,
      write: guard((rows) => decisions.write(rows)),
      undecided: async (query) => keep(await decisions.undecided(query)),
      due: async (query) => keep(await decisions.due(query)),
      heldBack: async (query) => keep(await decisions.heldBack(query)),
    },
    scores: { ...scores, write: guard((rows) => scores.write(rows)) },
    failures: { ...failures, write: guard((rows) => failures.write(rows)) },
    runs: {
      ...runs,
      write: guard(async (records) => {
        await onRuns(records);
        await runs.write(records);
      }),
    },
    judgeCalls: { ...judgeCalls, write: guard((calls) => judgeCalls.write(calls)) },
  };
}

/** Tables of others keep the spans of purged traces, and new spans of one may come before its tombstone is known. */
function withoutPurgedSpans(
  spans: SpanSource,
  keep: <Row extends TraceKey>(rows: readonly Row[]) => Row[],
): SpanSource {
  return {
    ...spans,
    arrivals: async (fromMs, toMs) => keep(await spans.arrivals(fromMs, toMs)),
    activity: (keys) => spans.activity(keep(keys)),
    facts: (keys, attributeKeys, options) => spans.facts(keep(keys), attributeKeys, options),
    read: (keys, options) => spans.read(keep(keys), options),
    list: async (range) => {
      // An empty page would mean the end of the list.
      let page = await spans.list(range);
      for (let kept = keep(page); ; kept = keep(page)) {
        const last = page.at(-1);
        if (kept.length > 0 || last === undefined) {
          return kept;
        }
        page = await spans.list({ ...range, after: { ...last, startUnixNano: last.firstStartUnixNano } });
      }
    },
    findTrace: async (traceId) => keep(await spans.findTrace(traceId)),
  };
}
