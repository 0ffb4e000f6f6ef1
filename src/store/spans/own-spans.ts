import { readActivity, findTrace } from './activity.ts';
import { readArrivals, readClock } from './arrivals.ts';
import type { SpanSource } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { readFacts } from './facts.ts';
import { limitsFor, READ_LIMITS, readTraces, type ReadLimits } from './read-traces.ts';
import { listByStart, ownStarts } from './trace-starts.ts';

/** Our own tables as a source of spans. */
export function createOwnSpans(database: Database, limits: ReadLimits = READ_LIMITS): SpanSource {
  return {
    nowMs: () => readClock(database),
    arrivals: (fromMs, toMs) => readArrivals(database, fromMs, toMs),
    activity: (keys) => readActivity(database, keys),
    facts: (keys, attributeKeys) => readFacts(database, keys, attributeKeys),
    read: (keys, options) => readTraces(database, keys, limitsFor(limits, options)),
    list: (range) => listByStart(ownStarts(database), range),
    findTrace: (traceId) => findTrace(database, traceId),
  };
}
