import type { SpanSource, TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { findTrace, readActivity, readArrivals, readClock } from './arrivals.ts';
import { readFacts } from './facts.ts';
import { limitsFor, READ_LIMITS, type ReadLimits, readTraces } from './read-traces.ts';
import { SeenMemory, ownTables } from './span-tables.ts';
import { countByStart, listByStart, ownStarts } from './trace-starts.ts';

/** Our own tables as a source of spans. */
export function createOwnSpans(database: Database, limits: ReadLimits = READ_LIMITS): SpanSource {
  const memory = new SeenMemory();
  const tables = ownTables(database, memory);
  const readAndRemember = async (keys: readonly TraceKey[]) => {
    const found = await readActivity(database, keys);
    memory.remember(found.values());
    return found;
  };
  return {
    nowMs: () => readClock(database),
    arrivals: (fromMs, toMs) => readArrivals(database, fromMs, toMs),
    activity: readAndRemember,
    facts: (keys, attributeKeys, options) => readFacts(database, keys, attributeKeys, { ...options, tables }),
    read: (keys, options) => readTraces(database, keys, limitsFor(limits, options), tables),
    list: (range) => listByStart(ownStarts(database, readAndRemember), range),
    count: (range) => countByStart(database, range),
    findTrace: (traceId) => findTrace(database, traceId),
  };
}

/**
 * Time for which a reading of the store's clock is used, milliseconds. Its readers compare it with waits of seconds and overlaps of
 * 45 s, so a clock that was set is noticed in time. Beats and leases have stamps of the store itself.
 */
const REREAD_AFTER_MS = 10_000;

/** Time of the store at a time of the monotonic clock. */
interface Reading {
  readonly storeMs: number;
  readonly atMs: number;
}

/**
 * Returns the source with a clock that asks the store every 10 s, and adds a monotonic clock in between: at rest, a process would
 * ask every second, under load several times for each batch. Throws what the store throws.
 */
export function rememberClock<Source extends Pick<SpanSource, 'nowMs'>>(
  spans: Source,
  monotonicMs: () => number,
): Source {
  let last: Reading | null = null;
  let reading: Promise<Reading> | null = null;

  const extrapolate = ({ storeMs, atMs }: Reading) => storeMs + Math.max(0, Math.trunc(monotonicMs() - atMs));

  async function read(): Promise<Reading> {
    const askedMs = monotonicMs();
    const storeMs = await spans.nowMs();
    const atMs = monotonicMs();
    // The store's clock was read during the request. A time that fits is not replaced: a slow reply must not set the clock back.
    const expectedMs = last === null ? Number.NaN : extrapolate(last);
    const fits = expectedMs >= storeMs && expectedMs <= storeMs + (atMs - askedMs);
    return { storeMs: fits ? expectedMs : storeMs, atMs };
  }

  return {
    ...spans,
    async nowMs() {
      if (last === null || monotonicMs() - last.atMs >= REREAD_AFTER_MS) {
        reading ??= read().finally(() => {
          reading = null;
        });
        last = await reading;
      }
      return extrapolate(last);
    },
  };
}
