import { readActivity, findTrace } from './activity.ts';
import { readArrivals, readClock } from './arrivals.ts';
import type { SpanSource, TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { readFacts } from './facts.ts';
import { limitsFor, READ_LIMITS, readTraces, type ReadLimits } from './read-traces.ts';
import { createSeenMemory } from './seen.ts';
import { ownTables } from './span-tables.ts';
import { countByStart, listByStart, ownStarts } from './trace-starts.ts';

/** Our own tables as a source of spans. */
export function createOwnSpans(database: Database, limits: ReadLimits = READ_LIMITS): SpanSource {
  const memory = createSeenMemory();
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
