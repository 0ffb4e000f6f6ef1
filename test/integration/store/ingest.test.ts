import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AGENT_SIGNALS } from '../../../src/conventions/agent-signals.ts';
import { looksLikeAgent } from '../../../src/domain/trace/agent-signals.ts';
import { StoreRejectedError, StoreUnavailableError } from '../../../src/domain/errors.ts';
import { type Arrival, joinTraceKey } from '../../../src/store/contracts/stores.ts';
import type { Database } from '../../../src/store/database.ts';
import { openDatabase } from '../../../src/store/open-database.ts';
import { openStore } from '../../../src/store/store.ts';
import {
  logBlock,
  buildLog,
  newSpanId,
  newTraceId,
  spanBlock,
  buildSpan,
  testStore,
  type TestStore,
} from '../../support/store/store-rows.ts';

let it: TestStore;
let database: Database;

beforeAll(async () => {
  it = await testStore();
  database = openDatabase(it.options);
});
afterAll(async () => {
  await database.close();
  await it.stop();
});

function buildKey(traceId: string, tenant = '') {
  return { tenant, traceId };
}

async function listArrivals(traceId: string): Promise<Arrival[]> {
  const now = await it.store.spans.nowMs();
  const all = await it.store.spans.arrivals(now - 600_000, now + 1000);
  return all.filter((arrival) => arrival.traceId === traceId);
}

describe('the span sink', () => {
  test('stores a span so that it reads back equal in every field', async () => {
    const span = buildSpan({
      parentSpanId: newSpanId(),
      traceState: 'a=b',
      kind: 'Client',
      statusCode: 'Error',
      statusMessage: 'it "broke"\n\nDROP TABLE otel_traces',
      attributes: new Map([
        ['gen_ai.input.messages', '[{"role":"user","content":"☔ \\u0000"}]'],
        ['__proto__', 'kept'],
        ['', 'empty key'],
      ]),
      events: [
        {
          timeUnixNano: 1_763_700_000_000_000_003n,
          name: 'gen_ai.choice',
          attributes: new Map([['k', 'v']]),
        },
      ],
      links: [
        { traceId: newTraceId(), spanId: newSpanId(), traceState: 'x', attributes: new Map([['l', '1']]) },
      ],
      droppedAttributesCount: 3,
    });
    const log = buildLog({ traceId: span.traceId, attributes: new Map([['gen_ai.system', 'openai']]) });
    await it.store.sink.insert(spanBlock([span]), 'equal-1');
    await it.store.sink.insert(logBlock([log]), 'equal-2');
    const read = await it.store.spans.read([buildKey(span.traceId)]);
    expect(read.get(joinTraceKey(buildKey(span.traceId)))).toEqual({
      traceId: span.traceId,
      size: expect.any(Number),
      spans: [span],
      logs: [log],
    });
  });

  test('adds no rows for a repeated token, neither to the table nor to derived tables', async () => {
    const span = buildSpan();
    await it.store.sink.insert(spanBlock([span]), 'repeat-1');
    await it.store.sink.insert(spanBlock([span]), 'repeat-1');
    for (const table of ['otel_traces', 'trace_arrivals', 'trace_starts', 'trace_activity']) {
      const [row] = await database.rows<{ rows: number }>(
        `SELECT count() AS rows FROM ${table} WHERE TraceId = {traceId:String}`,
        { traceId: span.traceId },
      );
      expect([table, row?.rows]).toEqual([table, 1]);
    }
  });

  test('fills derived tables when a crash came between the table and its views', async () => {
    const span = buildSpan();
    await database.command('DETACH TABLE trace_arrivals_of_spans');
    await it.store.sink.insert(spanBlock([span]), 'crash-1');
    await database.command('ATTACH TABLE trace_arrivals_of_spans');
    expect(await listArrivals(span.traceId)).toEqual([]);
    await it.store.sink.insert(spanBlock([span]), 'crash-1');
    expect(await listArrivals(span.traceId)).toHaveLength(1);
    const activity = await it.store.spans.activity([buildKey(span.traceId)]);
    expect(activity.get(joinTraceKey(buildKey(span.traceId)))?.rootSeen).toBe(true);
    const read = await it.store.spans.read([buildKey(span.traceId)]);
    expect(read.get(joinTraceKey(buildKey(span.traceId)))?.spans).toHaveLength(1);
  });

  test('keeps times of 1970 and 2262 and of 200 distinct days in one block exact', async () => {
    const traceId = newTraceId();
    const day = 86_400_000_000_000n;
    const starts = [
      1n,
      2n ** 63n - 1n,
      ...Array.from({ length: 200 }, (_, n) => BigInt(n + 1) * day * 50n + 7n),
    ];
    const spans = starts.map((startUnixNano) => buildSpan({ traceId, startUnixNano, durationNano: 5n }));
    await it.store.sink.insert(spanBlock(spans), 'days-1');
    const read = await it.store.spans.read([buildKey(traceId)]);
    const times = read.get(joinTraceKey(buildKey(traceId)))?.spans.map((span) => span.startUnixNano);
    expect(times).toEqual(starts.toSorted((a, b) => (a < b ? -1 : 1)));
    const activity = await it.store.spans.activity([buildKey(traceId)]);
    expect(activity.get(joinTraceKey(buildKey(traceId)))).toMatchObject({
      firstStartUnixNano: 1n,
      lastEndUnixNano: 2n ** 63n - 1n,
    });
  });

  test('takes a wrapped duration for none', async () => {
    const span = buildSpan({ durationNano: 2n ** 64n - 50_000_000n });
    await it.store.sink.insert(spanBlock([span]), 'wrapped-1');
    const key = joinTraceKey(buildKey(span.traceId));
    expect((await it.store.spans.read([buildKey(span.traceId)])).get(key)?.spans[0]?.durationNano).toBe(0n);
    expect((await it.store.spans.activity([buildKey(span.traceId)])).get(key)?.lastEndUnixNano).toBe(
      span.startUnixNano,
    );
  });

  test('does nothing for an empty block', async () => {
    await it.store.sink.insert(spanBlock([]), 'empty-1');
    expect(await it.store.spans.findTrace('')).toEqual([]);
  });

  test('refuses a block that is no RowBinary for good', async () => {
    const broken = { table: 'otel_traces' as const, rows: 1, chunks: [Buffer.from('no rows at all')] };
    await expect(it.store.sink.insert(broken, 'broken-1')).rejects.toBeInstanceOf(StoreRejectedError);
  });

  test('says that the store is unavailable when nothing listens', async () => {
    const options = { ...it.options, url: 'http://127.0.0.1:1' };
    await expect(openStore(options)).rejects.toBeInstanceOf(StoreUnavailableError);
  });

  test('says that the store is unavailable for a wrong password, so that no span is dropped for it', async () => {
    await expect(openStore({ ...it.options, password: 'wrong' })).rejects.toBeInstanceOf(
      StoreUnavailableError,
    );
  });
});

describe('arrivals and activity', () => {
  test('tell parents, root, agent and error of a trace that comes in several blocks and any order', async () => {
    const traceId = newTraceId();
    const root = buildSpan({ traceId, attributes: new Map(), statusCode: 'Error' });
    const child = buildSpan({
      traceId,
      parentSpanId: root.spanId,
      startUnixNano: root.startUnixNano + 10n,
      durationNano: root.durationNano * 3n,
    });
    await it.store.sink.insert(spanBlock([child]), `${traceId}-2`);
    const [first] = await listArrivals(traceId);
    expect(first).toMatchObject({
      rootSeen: false,
      agentSeen: true,
      spanIds: [child.spanId],
      parentIds: [root.spanId],
    });
    await it.store.sink.insert(spanBlock([root]), `${traceId}-1`);
    const [both, ...more] = await listArrivals(traceId);
    expect(more).toEqual([]);
    expect(both?.rootSeen).toBe(true);
    expect(both?.spanIds.toSorted()).toEqual([root.spanId, child.spanId].toSorted());
    const [activity] = await it.store.spans.findTrace(traceId);
    expect(activity).toMatchObject({
      tenant: '',
      traceId,
      rootSeen: true,
      agentSeen: true,
      errorSeen: true,
      firstStartUnixNano: root.startUnixNano,
      lastEndUnixNano: child.startUnixNano + child.durationNano,
    });
    expect(activity?.firstArrivalMs).toBeLessThanOrEqual(activity?.lastArrivalMs ?? 0);
  });

  test('leave out an interval whose end is before the arrival', async () => {
    const span = buildSpan();
    await it.store.sink.insert(spanBlock([span]), 'interval-1');
    const [activity] = await it.store.spans.findTrace(span.traceId);
    const at = activity?.firstArrivalMs ?? 0;
    expect(await it.store.spans.arrivals(at - 60_000, at)).not.toContainEqual(
      expect.objectContaining({ traceId: span.traceId }),
    );
    expect(await it.store.spans.arrivals(at, at + 1)).toContainEqual(
      expect.objectContaining({ traceId: span.traceId }),
    );
  });

  test('do not count spans and logs of our own scope', async () => {
    const own = buildSpan({ scopeName: 'spanscore' });
    await it.store.sink.insert(spanBlock([own]), 'own-1');
    await it.store.sink.insert(
      logBlock([buildLog({ traceId: own.traceId, scopeName: 'spanscore' })]),
      'own-2',
    );
    expect(await listArrivals(own.traceId)).toEqual([]);
    expect(await it.store.spans.findTrace(own.traceId)).toEqual([]);
    const [stored] = await database.rows<{ rows: number }>(
      'SELECT count() AS rows FROM otel_traces WHERE TraceId = {traceId:String}',
      { traceId: own.traceId },
    );
    expect(stored?.rows).toBe(1);
  });

  test('take a log record without a time of its own from its arrival', async () => {
    const log = buildLog({ timeUnixNano: 0n });
    await it.store.sink.insert(logBlock([log]), 'timeless-1');
    const [activity] = await it.store.spans.findTrace(log.traceId);
    expect(activity?.agentSeen).toBe(true);
    expect(Number((activity?.firstStartUnixNano ?? 0n) / 1_000_000n)).toBe(activity?.firstArrivalMs);
    expect(activity?.lastEndUnixNano).toBe(activity?.firstStartUnixNano);
  });

  test('do not take plain server spans for agents', async () => {
    const span = buildSpan({
      attributes: new Map([['http.route', '/']]),
      scopeName: '@opentelemetry/instrumentation-http',
    });
    await it.store.sink.insert(spanBlock([span]), 'plain-1');
    expect((await it.store.spans.findTrace(span.traceId))[0]?.agentSeen).toBe(false);
  });

  test('keep the same trace id of two tenants apart', async () => {
    const span = buildSpan();
    const other = buildSpan({ traceId: span.traceId, statusCode: 'Error' });
    await it.store.sink.insert(spanBlock([span], "a'b"), 'tenant-1');
    await it.store.sink.insert(spanBlock([other], 'b'), 'tenant-2');
    const keys = [buildKey(span.traceId, "a'b"), buildKey(span.traceId, 'b'), buildKey(span.traceId)];
    const read = await it.store.spans.read(keys);
    expect([...read.values()].map(({ spans }) => spans.map(({ spanId }) => spanId))).toEqual(
      expect.arrayContaining([[span.spanId], [other.spanId]]),
    );
    expect(read.size).toBe(2);
    const activity = await it.store.spans.activity(keys);
    expect(activity.get(joinTraceKey(buildKey(span.traceId, "a'b")))?.errorSeen).toBe(false);
    expect(activity.get(joinTraceKey(buildKey(span.traceId, 'b')))?.errorSeen).toBe(true);
    expect((await it.store.spans.findTrace(span.traceId)).map(({ tenant }) => tenant)).toEqual(["a'b", 'b']);
  });
});

describe('the signals of an agent in the engine', () => {
  test('give the same result for every span as the function over one span', async () => {
    const names = [
      // Arrivals store keys up to their first dot: of a longer prefix only its head is compared.
      ...AGENT_SIGNALS.keyPrefixes
        .filter((prefix) => !prefix.includes('.') || prefix.indexOf('.') === prefix.length - 1)
        .flatMap((prefix) => [`${prefix}x`, `x${prefix}`, prefix.slice(0, -1)]),
      ...AGENT_SIGNALS.scopePrefixes.flatMap((prefix) => [`${prefix}x`, `x${prefix}`]),
      ...AGENT_SIGNALS.scopes.flatMap((scope) => [scope, `${scope}x`]),
    ];
    const spans = names.flatMap((name) => [
      buildSpan({
        attributes: new Map([
          ['a', ''],
          [name, ''],
          ['z', ''],
        ]),
      }),
      buildSpan({ attributes: new Map(), scopeName: name }),
      buildSpan({ attributes: new Map(), events: [{ timeUnixNano: 1n, name, attributes: new Map() }] }),
    ]);
    await it.store.sink.insert(spanBlock(spans, 'signals'), 'signals-1');
    const keys = spans.map((span) => buildKey(span.traceId, 'signals'));
    const activity = await it.store.spans.activity(keys);
    const told = spans.map((span) => [
      span.scopeName,
      [...span.attributes.keys()],
      activity.get(joinTraceKey(buildKey(span.traceId, 'signals')))?.agentSeen,
    ]);
    const expected = spans.map((span) => [
      span.scopeName,
      [...span.attributes.keys()],
      looksLikeAgent(
        {
          scopeName: span.scopeName,
          attributeKeys: span.attributes.keys(),
          eventNames: span.events.map((event) => event.name),
        },
        AGENT_SIGNALS,
      ),
    ]);
    expect(told).toEqual(expected);
  });
});
