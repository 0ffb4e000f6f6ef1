import { findTrace } from '../spans/activity.ts';
import { readArrivals, readClock } from '../spans/arrivals.ts';
import type { SpanSource } from '../contracts/stores.ts';
import type { UnknownWord } from '../contracts/store.ts';
import type { Database } from '../database.ts';
import { readFacts } from '../spans/facts.ts';
import { limitsFor, READ_LIMITS, readTraces } from '../spans/read-traces.ts';
import { listByStart } from '../spans/trace-starts.ts';
import type { TraceListing } from '../spans/traces-list.ts';
import { createDiscovery } from './discovery.ts';
import { readForeignSchema, type ForeignSchema, type ForeignTables } from './foreign-schema.ts';
import { countForeign, foreignStarts } from './foreign-starts.ts';
import { foreignTables } from './foreign-tables.ts';
import { newestForeign } from './newest-foreign.ts';
import { createTableActivity } from './table-activity.ts';
import { readUnknownWords } from './unknown-words.ts';

/** Foreign tables as a source of spans. */
export interface ForeignSource {
  readonly spans: SpanSource;
  readonly listing: TraceListing;
  /** Searches once: rows present now are past, later rows are new. Throws like `describe`. */
  watch(): Promise<void>;
  /** Describes the source in one line. Throws like `readForeignSchema`. */
  describe(): Promise<string>;
  /** Finds unknown words for status and kind in the table of spans. */
  unknownWords(): Promise<UnknownWord[]>;
}

/**
 * Creates a source of spans in tables of the OpenTelemetry Collector's exporter, which are only read. `arrivals` writes new
 * rows to the arrivals of spanscore, and all work by arrival uses those. Traces that were never seen to arrive (history)
 * are looked up in the tables.
 */
export function createForeignSpans(database: Database, tables: ForeignTables): ForeignSource {
  const { schema, forget } = rememberedSchema(database, tables);
  const discovery = createDiscovery(database, tables, schema);
  const activity = createTableActivity(database, schema);

  /** Reads the schema again after a failure: the tables may be gone, which the error then says, or created again. */
  async function poll(): Promise<void> {
    try {
      await discovery.poll();
    } catch (error) {
      forget();
      await schema();
      throw error;
    }
  }

  const tablesNow = async () => foreignTables(database, await schema(), activity.remembered);
  const starts = foreignStarts(database, schema, activity.inTable);

  return {
    spans: {
      nowMs: () => readClock(database),
      arrivals: async (fromMs, toMs) => {
        await poll();
        return readArrivals(database, fromMs, toMs);
      },
      activity: activity.of,
      facts: async (keys, attributeKeys, options) =>
        readFacts(database, keys, attributeKeys, { ...options, tables: await tablesNow() }),
      read: async (keys, options) =>
        readTraces(database, keys, limitsFor(READ_LIMITS, options), await tablesNow()),
      list: async (range) => activity.asArrived(await listByStart(starts, range)),
      count: async (range) => countForeign(database, await schema(), range),
      findTrace: async (traceId) => {
        const arrived = await findTrace(database, traceId);
        return arrived.length > 0
          ? arrived
          : [...(await activity.inTable([{ tenant: '', traceId }])).values()];
      },
    },
    listing: {
      tables: tablesNow,
      newest: async (filter) => newestForeign(database, (await schema()).traces, filter),
      activity: (keys) => activity.of(keys),
    },
    watch: poll,
    describe: async () => describeSchema(tables, await schema()),
    unknownWords: async () => readUnknownWords(database, (await schema()).traces),
  };
}

/** Reads the schema once, and again after a failure or on request. */
function rememberedSchema(database: Database, tables: ForeignTables) {
  let known: Promise<ForeignSchema> | null = null;
  const forget = () => {
    known = null;
  };
  const schema = () => {
    known ??= readForeignSchema(database, tables).catch((error: unknown) => {
      forget();
      throw error;
    });
    return known;
  };
  return { schema, forget };
}

function describeSchema(tables: ForeignTables, { traces, logs, lookup }: ForeignSchema): string {
  const attributes = traces.attributes === 'map' ? 'maps' : 'JSON';
  const starts = lookup === null ? 'no table of trace starts' : 'its table of trace starts is used';
  return `${tables.traces} with attributes as ${attributes}, ${starts}; ${
    logs === null ? 'no logs' : `logs in ${tables.logs}`
  }`;
}
