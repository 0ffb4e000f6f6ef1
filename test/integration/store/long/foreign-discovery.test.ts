import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Span } from '../../../../src/domain/trace/span.ts';
import type { Arrival } from '../../../../src/store/contracts/stores.ts';
import type { Database } from '../../../../src/store/database.ts';
import { openDatabase } from '../../../../src/store/open-database.ts';
import { Discovery } from '../../../../src/store/foreign/discovery.ts';
import { readForeignSchema } from '../../../../src/store/foreign/foreign-schema.ts';
import {
  exporterTables,
  type ExporterTableOptions,
  type ExporterTables,
} from '../../../support/collector/exporter-tables.ts';
import {
  buildLog,
  newSpanId,
  newTraceId,
  buildSpan,
  openEmptied,
  testStore,
  type TestStore,
} from '../../../support/store/store-rows.ts';
import type { Store } from '../../../../src/store/store.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

let base: TestStore;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  base = await testStore();
});
afterAll(async () => {
  await Promise.all(open.map((each) => each.close()));
  await base.stop();
});

interface World {
  readonly tables: ExporterTables;
  readonly store: Store;
  readonly database: Database;
  /** Searches once, as a process that has just been started does. */
  readonly search: () => Promise<void>;
  readonly arrivals: () => Promise<Map<string, Arrival>>;
}

/** A store beside tables that were searched once, when they were empty. */
async function watched(options: ExporterTableOptions = {}): Promise<World> {
  const tables = await exporterTables(base.engine, options);
  const settings = { ...base.options, foreignSpans: tables.source };
  const store = await openEmptied(settings);
  const database = openDatabase(settings);
  open.push(store, database);
  const search = () =>
    new Discovery(database, tables.source, () => readForeignSchema(database, tables.source)).poll();
  const arrivals = async () => {
    const found = await store.spans.arrivals(0, Date.now() + HOUR_MS);
    return new Map(found.map((arrival) => [arrival.traceId, arrival]));
  };
  await search();
  return { tables, store, database, search, arrivals };
}

/** A span that ended so long ago. */
function endedAgo(agoMs: number, fields: Partial<Span> & { lastedMs?: number } = {}): Span {
  const { lastedMs = SECOND_MS, ...rest } = fields;
  return buildSpan({
    startUnixNano: BigInt(Date.now() - agoMs - lastedMs) * 1_000_000n,
    durationNano: BigInt(lastedMs) * 1_000_000n,
    ...rest,
  });
}

describe('a new span in a table without arrival times', () => {
  test('is written into our arrivals once, even if the exporter wrote it twice', async () => {
    const { tables, search, arrivals, database } = await watched();
    const root = endedAgo(SECOND_MS);
    const child = endedAgo(2 * SECOND_MS, {
      traceId: root.traceId,
      parentSpanId: root.spanId,
      statusCode: 'Error',
    });
    const plain = endedAgo(SECOND_MS, { attributes: new Map([['http.route', '/']]) });
    await tables.addSpans([root, child, child, plain]);
    const found = await arrivals();
    expect(found.get(root.traceId)).toMatchObject({
      parentIds: [root.spanId],
      rootSeen: true,
      agentSeen: true,
    });
    expect(found.get(root.traceId)?.spanIds.toSorted()).toEqual([root.spanId, child.spanId].toSorted());
    expect(found.get(plain.traceId)).toMatchObject({ rootSeen: true, agentSeen: false });
    await tables.addSpans([root, child]);
    await search();
    expect(await arrivals()).toEqual(found);
    expect(await database.rows('SELECT TraceId FROM trace_arrivals')).toHaveLength(2);
  });

  test('is found by trace and by its start, like a received span', async () => {
    const { tables, store, arrivals } = await watched();
    const span = endedAgo(SECOND_MS);
    await tables.addSpans([span]);
    const arrived = (await arrivals()).get(span.traceId)!;
    expect(await store.spans.findTrace(span.traceId)).toMatchObject([
      { lastArrivalMs: arrived.lastArrivalMs, firstStartUnixNano: span.startUnixNano },
    ]);
    expect(await store.spans.list({ fromMs: 0, toMs: Date.now(), limit: 5 })).toMatchObject([
      { lastArrivalMs: arrived.lastArrivalMs, firstStartUnixNano: span.startUnixNano },
    ]);
    expect(arrived.firstArrivalMs).toBeGreaterThanOrEqual(Number(span.startUnixNano / 1_000_000n));
    expect(await store.listTraces({ limit: 5 })).toMatchObject([{ traceId: span.traceId, spanCount: 1 }]);
  });

  test('is not what spanscore itself emitted', async () => {
    const { tables, arrivals } = await watched();
    await tables.addSpans([endedAgo(SECOND_MS, { scopeName: 'spanscore' })]);
    expect((await arrivals()).size).toBe(0);
  });

  test('is found when it comes late, out of order, or ended a run that took hours', async () => {
    const { tables, search, arrivals } = await watched();
    const late = endedAgo(10 * MINUTE_MS);
    const long = endedAgo(SECOND_MS, { lastedMs: 20 * HOUR_MS });
    const wrapped = endedAgo(SECOND_MS, { durationNano: -50_000_000n });
    await tables.addSpans([endedAgo(SECOND_MS)]);
    await search();
    await tables.addSpans([long, wrapped, late]);
    await search();
    const found = await arrivals();
    expect([late, long, wrapped].filter((span) => !found.has(span.traceId))).toEqual([]);
  });

  test('is not found live when it comes later than the look-back, but is there to be scored by hand', async () => {
    const { tables, store, search, arrivals } = await watched({ lookbackMs: 5 * MINUTE_MS });
    const span = endedAgo(10 * MINUTE_MS);
    await tables.addSpans([span]);
    await search();
    expect((await arrivals()).size).toBe(0);
    expect(await store.spans.findTrace(span.traceId)).toMatchObject([
      { traceId: span.traceId, agentSeen: true },
    ]);
  });

  test('is found once when its clock is ahead, or when its time comes, and does not arrive again and again', async () => {
    const { tables, search, arrivals } = await watched();
    const ahead = endedAgo(-30 * MINUTE_MS);
    const far = endedAgo(-2 * HOUR_MS);
    await tables.addSpans([ahead, far]);
    await search();
    const found = await arrivals();
    expect([...found.keys()]).toEqual([ahead.traceId]);
    await search();
    expect(await arrivals()).toEqual(found);
  });

  test('contains log records of agents, and no other records', async () => {
    const { tables, arrivals } = await watched({ logs: true });
    const timeUnixNano = BigInt(Date.now() - SECOND_MS) * 1_000_000n;
    const event = buildLog({ timeUnixNano });
    await tables.addLogs([event, buildLog({ timeUnixNano, eventName: '' })]);
    const found = await arrivals();
    expect([...found.keys()]).toEqual([event.traceId]);
    expect(await arrivals()).toEqual(found);
  });

  test('counts from when it ended where it was there before anyone watched', async () => {
    const tables = await exporterTables(base.engine);
    const span = endedAgo(5 * MINUTE_MS);
    const history = endedAgo(30 * 24 * HOUR_MS);
    await tables.addSpans([span, history]);
    const store = await openEmptied({ ...base.options, foreignSpans: tables.source });
    open.push(store);
    const startedMs = await store.spans.nowMs();
    const found = await store.spans.arrivals(0, startedMs + HOUR_MS);
    expect(found.map((arrival) => arrival.traceId)).toEqual([span.traceId]);
    expect(found[0]!.lastArrivalMs).toBeLessThan(startedMs - 4 * MINUTE_MS);
  });

  test('is read from a table that drops old days, too', async () => {
    const edit = (ddl: string) => ddl.replace('toIntervalDay(3)', 'toIntervalDay(1)');
    const { tables, arrivals } = await watched({ edit });
    const span = endedAgo(SECOND_MS);
    await tables.addSpans([endedAgo(72 * HOUR_MS), span]);
    expect([...(await arrivals()).keys()]).toEqual([span.traceId]);
  });
});

describe('a search that continues after a pause', () => {
  async function pausedFor(world: World, pauseMs: number): Promise<void> {
    await world.database.command('TRUNCATE TABLE progress');
    await world.database.insertRows('progress', [
      {
        Kind: 'source',
        Name: world.tables.source.traces,
        DoneUntil: new Date(Date.now() - pauseMs).toISOString().slice(0, -1),
      },
    ]);
  }

  test('finds the spans of the pause, in steps, with the arrival time of now', async () => {
    const world = await watched();
    await pausedFor(world, 3 * HOUR_MS);
    const spans = [170, 100, 50, 1].map((minutes) => endedAgo(minutes * MINUTE_MS));
    await world.tables.addSpans(spans);
    const resumedMs = await world.store.spans.nowMs();
    const seen: number[] = [];
    for (let step = 0; step < 4; step++) {
      seen.push((await world.arrivals()).size);
    }
    expect(seen[0]).toBeLessThan(spans.length);
    const found = [...(await world.arrivals()).values()];
    expect(found.map((arrival) => arrival.traceId).toSorted()).toEqual(
      spans.map((span) => span.traceId).toSorted(),
    );
    expect(found.filter((arrival) => arrival.firstArrivalMs < resumedMs)).toEqual([]);
  });

  test('looks back from its last position, so that late spans of that time are not lost', async () => {
    const world = await watched();
    await pausedFor(world, HOUR_MS);
    const late = endedAgo(70 * MINUTE_MS);
    await world.tables.addSpans([late]);
    await world.search();
    expect((await world.arrivals()).has(late.traceId)).toBe(true);
  });

  test('by two processes at once leaves each span known to both', async () => {
    const world = await watched();
    const span = endedAgo(SECOND_MS);
    await world.tables.addSpans([span]);
    await Promise.all([world.search(), world.search()]);
    const found = await world.arrivals();
    expect(found.get(span.traceId)?.spanIds).toEqual([span.spanId]);
    await world.search();
    expect(await world.arrivals()).toEqual(found);
  });
});

describe('the cost of a search', () => {
  test('is that of the last minutes, not of the table: 100,000 rows of the day are not read again', async () => {
    const world = await watched();
    const { tables, database } = world;
    await tables.run(`INSERT INTO {db}.otel_traces (Timestamp, TraceId, SpanId, SpanName, ServiceName, Duration)
      SELECT now64(9) - toIntervalSecond(3600 + number % 36000), lower(hex(MD5(toString(number)))),
        lower(hex(number)), concat('op-', toString(number % 20)), concat('service-', toString(number % 5)), 1000000
      FROM numbers(100000)`);
    await tables.run('OPTIMIZE TABLE {db}.otel_traces FINAL');
    const [count] = await database.rows<{ rows: string }>(
      `SELECT count() AS rows FROM ${tables.database}.otel_traces`,
    );
    expect(Number(count?.rows)).toBe(100_000);
    const recent = Array.from({ length: 10 }, () =>
      endedAgo(SECOND_MS, { spanId: newSpanId(), traceId: newTraceId() }),
    );
    await tables.addSpans(recent);
    const reads = await readBySearch(world);
    expect(reads).toHaveLength(2);
    expect(reads.filter((rows) => rows > 5_000)).toEqual([]);
    expect((await world.arrivals()).size).toBe(recent.length);
  });

  /** Rows of the table that each query of one whole search reads, by the engine's own estimate. */
  async function readBySearch({ database, tables }: World): Promise<number[]> {
    const reads: number[] = [];
    const watching: Database = {
      ...database,
      insertSelected: async (statement, params) => {
        const select = statement.slice(statement.indexOf('SELECT'));
        const estimate = await database.rows<{ table: string; rows: string }>(
          `EXPLAIN ESTIMATE ${select}`,
          params,
        );
        const rows = estimate.filter(({ table }) => table === 'otel_traces').map((each) => Number(each.rows));
        reads.push(rows.reduce((sum, each) => sum + each, 0));
        await database.insertSelected(statement, params);
      },
    };
    await new Discovery(watching, tables.source, () => readForeignSchema(database, tables.source)).poll();
    return reads;
  }
});
