import { findTrace, readActivity } from '../activity.ts';
import { readArrivals, readClock } from '../arrivals.ts';
import { traceKeyOf, type SpanSource, type TraceActivity, type TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { readFacts } from '../facts.ts';
import { READ_LIMITS, readTraces } from '../read-traces.ts';
import { listByStart } from '../trace-starts.ts';
import type { TraceListing } from '../traces-list.ts';
import { createDiscovery } from './discovery.ts';
import { readForeignActivity } from './foreign-activity.ts';
import { readForeignSchema, type ForeignSchema, type ForeignTables } from './foreign-schema.ts';
import { foreignStarts } from './foreign-starts.ts';
import { foreignTables } from './foreign-tables.ts';
import { newestForeign } from './newest-foreign.ts';

/** Tables of others as a source of spans. */
export interface ForeignSource {
  readonly spans: SpanSource;
  readonly listing: TraceListing;
  /** Searches once: what is there by now is the past, and what comes from now on is new. Throws as `describe` does. */
  watch(): Promise<void>;
  /** What is found there, in one line. Throws as `readForeignSchema` does. */
  describe(): Promise<string>;
}

/** Most traces whose times are remembered after they were listed, for the reads that follow. */
const MOST_REMEMBERED = 10_000;

/**
 * Spans in tables of the OpenTelemetry Collector's exporter, which are only read: what is new in them is written into our own
 * arrivals when `arrivals` is asked for, and all that goes by arrival works on those. Traces that were never seen to arrive
 * (history) are looked up in the tables.
 */
export function createForeignSpans(database: Database, tables: ForeignTables): ForeignSource {
  const schema = rememberedSchema(database, tables);
  const discovery = createDiscovery(database, tables, schema);
  const remembered = new Map<string, TraceActivity>();

  async function foreignActivity(keys: readonly TraceKey[]): Promise<Map<string, TraceActivity>> {
    const found = await readForeignActivity(database, await schema(), keys);
    for (const [name, activity] of found) {
      remembered.delete(name);
      remembered.set(name, activity);
    }
    for (const name of remembered.keys()) {
      if (remembered.size <= MOST_REMEMBERED) {
        break;
      }
      remembered.delete(name);
    }
    return found;
  }

  async function activityOf(keys: readonly TraceKey[]): Promise<Map<string, TraceActivity>> {
    const arrived = await readActivity(database, keys);
    const others = keys.filter((key) => !arrived.has(traceKeyOf(key)));
    return others.length === 0 ? arrived : new Map([...arrived, ...(await foreignActivity(others))]);
  }

  const tablesNow = async () =>
    foreignTables(database, await schema(), (key) => remembered.get(traceKeyOf(key)));
  const starts = foreignStarts(database, schema, foreignActivity);

  return {
    spans: {
      nowMs: () => readClock(database),
      arrivals: async (fromMs, toMs) => {
        await discovery.poll();
        return readArrivals(database, fromMs, toMs);
      },
      activity: activityOf,
      facts: async (keys, attributeKeys) => readFacts(database, keys, attributeKeys, await tablesNow()),
      read: async (keys) => readTraces(database, keys, READ_LIMITS, await tablesNow()),
      list: (range) => listByStart(starts, range),
      findTrace: async (traceId) => {
        const arrived = await findTrace(database, traceId);
        return arrived.length > 0
          ? arrived
          : [...(await foreignActivity([{ tenant: '', traceId }])).values()];
      },
    },
    listing: {
      tables: tablesNow,
      newest: async (filter) => {
        const keys = await newestForeign(database, (await schema()).traces, filter);
        const found = await activityOf(keys);
        return keys.flatMap((key) => found.get(traceKeyOf(key)) ?? []);
      },
    },
    watch: () => discovery.poll(),
    describe: async () => describeSchema(tables, await schema()),
  };
}

/** Looks at the tables once, and again after it failed. */
function rememberedSchema(database: Database, tables: ForeignTables): () => Promise<ForeignSchema> {
  let known: Promise<ForeignSchema> | null = null;
  return () => {
    known ??= readForeignSchema(database, tables).catch((error: unknown) => {
      known = null;
      throw error;
    });
    return known;
  };
}

function describeSchema(tables: ForeignTables, { traces, logs, lookup }: ForeignSchema): string {
  const attributes = traces.attributes === 'map' ? 'maps' : 'JSON';
  const starts = lookup === null ? 'no table of trace starts' : 'its table of trace starts is used';
  return `${tables.traces} with attributes as ${attributes}, ${starts}; ${
    logs === null ? 'no logs' : `logs in ${tables.logs}`
  }`;
}
