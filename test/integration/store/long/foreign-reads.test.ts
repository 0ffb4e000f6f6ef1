import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readTogether } from '../../../../src/conventions/index.ts';
import { AGENT_SIGNALS } from '../../../../src/conventions/agent-signals.ts';
import { looksLikeAgent } from '../../../../src/domain/trace/agent-signals.ts';
import { decodeOtlpJson } from '../../../../src/wire/otlp-json.ts';
import type { LogRecord, Span, TraceData } from '../../../../src/domain/trace/span.ts';
import type { AttributeKind } from '../../../../src/store/foreign/foreign-schema.ts';
import { describeUnknown } from '../../../../src/cli/checks/doctor-checks.ts';
import { openStore, type Store } from '../../../../src/store/store.ts';
import {
  exportedRows,
  exporterTables,
  typedAttributes,
  withoutExpiry,
  type ExporterTables,
  type OtlpRequest,
} from '../../../support/collector/exporter-tables.ts';
import { listExpectations, recordedSpans } from '../../../support/recordings/recorded-spans.ts';
import {
  logBlock,
  buildLog,
  newTraceId,
  spanBlock,
  buildSpan,
  testStore,
  type TestStore,
} from '../../../support/store/store-rows.ts';

let base: TestStore;
const stores: Store[] = [];

beforeAll(async () => {
  base = await testStore();
});
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await base.stop();
});

async function storeOn(tables: ExporterTables): Promise<Store> {
  const store = await openStore({ ...base.options, foreignSpans: tables.source });
  stores.push(store);
  return store;
}

async function readOne(store: Store, traceId: string): Promise<TraceData | undefined> {
  return (await store.spans.read([{ tenant: '', traceId }])).get(` ${traceId}`);
}

const EXPORTED = '4bf92f3577b34da6a3ce929d0e0e4736';
const INTERRUPTED = '4bf92f3577b34da6a3ce929d0e0e4737';
const RAISED = '4bf92f3577b34da6a3ce929d0e0e4738';

/** Adds the exception of a pause to the error spans of exported rows. */
function withException(rows: string, attributes: AttributeKind): string {
  const key = attributes === 'map' ? '{"exception.type":"T"}' : '{"exception":{"type":"T"}}';
  return rows
    .split('\n')
    .map((row) =>
      row.includes('"StatusCode":"Error"')
        ? row
            .replace('"Events.Timestamp":[]', '"Events.Timestamp":["2026-11-21 09:40:02.300000000"]')
            .replace('"Events.Name":[]', '"Events.Name":["exception"]')
            .replace('"Events.Attributes":[]', `"Events.Attributes":[${key.replace('T', 'a.NodeInterrupt')}]`)
        : row,
    )
    .join('\n');
}

describe.each<[AttributeKind, string, string]>([
  ['map', 'otel_traces', 'otel_traces.JSONEachRow'],
  ['json', 'otel_traces_json', 'otel_traces_json.JSONEachRow'],
])('rows that a real exporter wrote, attributes as %s', (attributes, table, file) => {
  let store: Store;
  beforeAll(async () => {
    const tables = await exporterTables(base.engine, { attributes });
    const rows = exportedRows(file);
    const interrupted = rows
      .replaceAll(EXPORTED, INTERRUPTED)
      .replaceAll('"timeout"', '"GraphInterrupt"')
      .replaceAll(/"StatusMessage":"[^"]*"/g, '"StatusMessage":""');
    const raised = withException(rows.replaceAll(EXPORTED, RAISED), attributes);
    for (const each of [rows, interrupted, raised]) {
      await tables.run(`INSERT INTO {db}.${table} FORMAT JSONEachRow`, each);
    }
    store = await storeOn(tables);
  });

  test('are read with their attributes as strings, lists as JSON and a wrapped duration as none', async () => {
    const spans = (await readOne(store, EXPORTED))?.spans ?? [];
    expect(spans.map((span) => [span.name, span.durationNano, span.statusCode])).toEqual([
      ['invoke_agent support', 3_500_000_001n, 'Ok'],
      ['chat gpt-4o', 2_000_000_123n, 'Unset'],
      ['execute_tool get_order', 0n, 'Error'],
    ]);
    const [agent, chat] = spans;
    expect(Object.fromEntries(agent?.resourceAttributes ?? [])).toEqual({
      'deployment.environment.name': 'staging',
      'process.pid': '4242',
      'service.name': 'support-agent',
      'service.version': '2.3.1',
    });
    expect(Object.fromEntries(chat?.attributes ?? [])).toMatchObject({
      'bytes.attr': 'AAEC/w==',
      'empty.attr': '',
      'gen_ai.request.stream': 'true',
      'gen_ai.request.temperature': '0.2',
      'gen_ai.request.top_p': '1',
      'gen_ai.response.finish_reasons': '["stop","length"]',
      'gen_ai.usage.input_tokens': '812',
    });
    expect(chat?.attributes.get('gen_ai.output.messages')).toBe(
      '[{"parts":[{"content":"It ships today <b>&</b> é","type":"text"}],"role":"assistant"}]',
    );
    expect(Object.fromEntries(chat?.events[0]?.attributes ?? [])).toEqual({
      'gen_ai.evaluation.name': 'faithfulness',
      'gen_ai.evaluation.score.value': '0.87',
    });
    expect(chat?.links[0]).toMatchObject({ traceId: '0af7651916cd43dd8448eb211c80319c', traceState: 'x=y' });
  });

  test.each([INTERRUPTED, RAISED])('take no interrupted tool for a failure: %s', async (traceId) => {
    const facts = await store.spans.facts([{ tenant: '', traceId }], []);
    expect(facts.get(` ${traceId}`)).toMatchObject({ hasError: false, hasToolError: false });
  });

  test('give facts, activity and a place in the lists without having arrived', async () => {
    const key = { tenant: '', traceId: EXPORTED };
    expect((await store.spans.facts([key], ['error.type', 'process.pid'])).get(` ${EXPORTED}`)).toMatchObject(
      {
        services: ['support-agent'],
        environments: ['staging'],
        agents: ['support'],
        hasError: true,
        hasToolError: true,
        attributes: new Map([
          ['error.type', ['timeout']],
          ['process.pid', ['4242']],
        ]),
      },
    );
    const startMs = Date.UTC(2026, 10, 21, 9, 40);
    const activity = {
      traceId: EXPORTED,
      firstStartUnixNano: BigInt(startMs) * 1_000_000n + 1n,
      lastArrivalMs: startMs + 3_500,
      rootSeen: true,
      agentSeen: true,
      errorSeen: true,
    };
    expect((await store.spans.activity([key])).get(` ${EXPORTED}`)).toMatchObject(activity);
    expect(await store.spans.findTrace(EXPORTED)).toMatchObject([activity]);
    const listed = await store.spans.list({ fromMs: startMs - 1, toMs: startMs + 1, limit: 10 });
    expect(listed.filter(({ traceId }) => traceId === EXPORTED)).toMatchObject([activity]);
    expect(listed).toHaveLength(3);
    expect(await store.spans.count({ fromMs: startMs - 1, toMs: startMs + 1 })).toBe(3);
    expect(await store.spans.count({ fromMs: 0, toMs: startMs })).toBe(0);
    expect(await store.spans.count({ tenant: 'other', fromMs: 0, toMs: startMs + 1 })).toBe(0);
    const traces = await store.listTraces({ limit: 10 });
    expect(traces.filter(({ traceId }) => traceId === EXPORTED)).toMatchObject([
      { spanCount: 3, services: ['support-agent'], decisions: {} },
    ]);
  });
});

/** Every recording of an agent: as it was sent, and what it decodes to. */
function recordings(): { requests: OtlpRequest[]; spans: Span[]; logs: LogRecord[] } {
  const names = (['spans', 'spans-multi'] as const).flatMap((folder) =>
    listExpectations(folder).map(([name]) => recordedSpans(folder, name)),
  );
  const requests = names.flatMap((text) => text.split('\n').map((line) => JSON.parse(line) as OtlpRequest));
  const decoded = requests.map((request) => decodeOtlpJson(request));
  const isAgents = (log: LogRecord) =>
    log.traceId !== '' &&
    looksLikeAgent(
      { scopeName: log.scopeName, attributeKeys: log.attributes.keys(), eventNames: [log.eventName] },
      AGENT_SIGNALS,
    );
  return {
    requests,
    spans: decoded.flatMap((each) => each.spans),
    logs: decoded.flatMap((each) => each.logs).filter(isAgents),
  };
}

describe('recordings of agents', () => {
  test.each<AttributeKind>(['map', 'json'])(
    'read the same from a table with attributes as %s as from our own',
    { timeout: 120_000 },
    async (attributes) => {
      const { requests, spans, logs } = recordings();
      await base.store.sink.insert(spanBlock(spans), `spans-${attributes}`);
      await base.store.sink.insert(logBlock(logs), `logs-${attributes}`);
      const tables = await exporterTables(base.engine, { attributes, logs: true });
      const typed = new Map(requests.flatMap((request) => [...typedAttributes(request, spans)]));
      await tables.addSpans(spans, typed);
      await tables.addLogs(logs);
      const store = await storeOn(tables);
      const keys = [...new Set(spans.map((span) => span.traceId))].map((traceId) => ({
        tenant: '',
        traceId,
      }));
      const [own, foreign] = await Promise.all([base.store, store].map((each) => each.spans.read(keys)));
      expect(foreign?.size).toBe(keys.length);
      for (const { traceId } of keys) {
        const [expected, found] = [own, foreign].map((traces) => readTogether([traces!.get(` ${traceId}`)!]));
        expect(found).toEqual(expected);
      }
    },
  );
});

describe('tables that differ from those of the newest exporter', () => {
  const startMs = Date.UTC(2026, 10, 20, 12);
  const traceId = newTraceId();
  const span = buildSpan({ traceId, startUnixNano: BigInt(startMs) * 1_000_000n });
  const key = { tenant: '', traceId };

  test('may lack the table of trace starts', async () => {
    const tables = await exporterTables(base.engine, { lookup: false });
    await tables.addSpans([span]);
    const store = await storeOn(tables);
    expect(await store.describeSource()).toContain('no table of trace starts');
    expect((await readOne(store, traceId))?.spans).toEqual([span]);
    expect(await store.spans.list({ fromMs: 0, toMs: startMs + 1, limit: 1 })).toHaveLength(1);
    expect((await readOne(store, traceId))?.spans).toEqual([span]);
    expect(await readOne(store, newTraceId())).toBeUndefined();
  });

  test('may have a table of trace starts that knows some traces only', async () => {
    const tables = await exporterTables(base.engine);
    await tables.addSpans([span]);
    await tables.run('TRUNCATE TABLE {db}.otel_traces_trace_id_ts');
    const other = buildSpan({ startUnixNano: span.startUnixNano });
    await tables.addSpans([other]);
    const found = await (await storeOn(tables)).spans.read([key, { tenant: '', traceId: other.traceId }]);
    expect([...found.values()].map((trace) => trace.spans)).toEqual(
      expect.arrayContaining([[span], [other]]),
    );
  });

  test('may have JSON attributes without a column of their keys', async () => {
    const edit = (ddl: string) =>
      withoutExpiry(ddl).replaceAll(/^.*AttributesKeys.*\n|^.*_attr_keys .*\n/gm, '');
    const tables = await exporterTables(base.engine, { attributes: 'json', edit });
    await tables.run(
      `INSERT INTO {db}.otel_traces_json (Timestamp, TraceId, SpanId, SpanAttributes) FORMAT JSONEachRow`,
      JSON.stringify({
        Timestamp: '2026-11-20 12:00:00',
        TraceId: traceId,
        SpanId: span.spanId,
        SpanAttributes: { 'ai.prompt': 'x', 'ai.prompt.messages': ['y'] },
      }),
    );
    const store = await storeOn(tables);
    expect(Object.fromEntries((await readOne(store, traceId))?.spans[0]?.attributes ?? [])).toEqual({
      'ai.prompt': 'x',
      'ai.prompt.messages': '["y"]',
    });
    expect((await store.spans.activity([key])).get(` ${traceId}`)).toMatchObject({ agentSeen: true });
  });

  test('may keep logs without a column for the name of an event', async () => {
    const edit = (ddl: string) => withoutExpiry(ddl).replace(/^ *`EventName`.*\n/m, '');
    const tables = await exporterTables(base.engine, { logs: true, edit });
    await tables.run(
      `INSERT INTO {db}.otel_logs (Timestamp, TraceId, SpanId, Body, LogAttributes) FORMAT JSONEachRow`,
      JSON.stringify({
        Timestamp: '2026-11-20 12:00:00',
        TraceId: traceId,
        SpanId: span.spanId,
        Body: '{"content":"hi"}',
        LogAttributes: { 'event.name': 'gen_ai.user.message' },
      }),
    );
    await tables.addSpans([span]);
    expect((await readOne(await storeOn(tables), traceId))?.logs).toMatchObject([
      { eventName: 'gen_ai.user.message', body: '{"content":"hi"}', spanId: span.spanId },
    ]);
  });

  test('give log records until hours after the last start, those of one time in the order in which they came', async () => {
    const tables = await exporterTables(base.engine, { logs: true });
    await tables.addSpans([span]);
    const bodies = Array.from({ length: 12 }, (_, index) => `message ${index}`);
    const timeUnixNano = span.startUnixNano + 3_600_000_000_000n;
    for (const body of bodies) {
      await tables.addLogs([buildLog({ traceId, spanId: span.spanId, body, timeUnixNano })]);
    }
    const logs = (await readOne(await storeOn(tables), traceId))?.logs ?? [];
    expect(logs.map((log) => log.body)).toEqual(bodies);
  });

  test('may be larger than one read: the root, then agent spans, then the earliest are read', async () => {
    const tables = await exporterTables(base.engine);
    const plain = Array.from({ length: 10_004 }, (_, index) =>
      buildSpan({
        traceId,
        parentSpanId: span.spanId,
        attributes: new Map([['http.route', '/']]),
        startUnixNano: span.startUnixNano + BigInt(index),
      }),
    );
    await tables.addSpans([...plain, span]);
    const trace = await readOne(await storeOn(tables), traceId);
    expect(trace?.spans).toHaveLength(10_000);
    expect(trace?.spans.some((each) => each.spanId === span.spanId)).toBe(true);
    expect(trace?.omittedSpans).toBe(5);
  });

  test('give the facts of a trace as our own do, with feedback and asked attributes', async () => {
    const spans = [
      buildSpan({
        traceId,
        attributes: new Map([
          ['gen_ai.agent.name', 'weather-agent'],
          ['user.feedback.score', '-1'],
          ["odd'key`", 'v'],
        ]),
        resourceAttributes: new Map([
          ['deployment.environment', 'production'],
          ['service.version', '2.0'],
        ]),
      }),
    ];
    await base.store.sink.insert(spanBlock(spans), 'facts');
    const asked = ["odd'key`", 'absent'];
    const expected = (await base.store.spans.facts([key], asked)).get(` ${traceId}`);
    expect(expected).toMatchObject({
      hasNegativeFeedback: true,
      environments: ['production'],
      versions: [{ agent: 'weather-agent', serviceVersion: '2.0' }],
    });
    for (const attributes of ['map', 'json'] as const) {
      const tables = await exporterTables(base.engine, { attributes });
      await tables.addSpans(spans);
      const found = await (await storeOn(tables)).spans.facts([key], asked);
      expect(found.get(` ${traceId}`)).toEqual(expected);
    }
  });

  test('may have words for status and kind that doctor tells, when they are unknown', async () => {
    const tables = await exporterTables(base.engine);
    const words = [
      ['Error', 'Client'],
      ['STATUS_CODE_OK', 'SPAN_KIND_SERVER'],
      ['error', ''],
      ['failed', 'Client'],
      ['failed', 'remote'],
      ['2', 'Internal'],
    ] as const;
    for (const [statusCode, kind] of words) {
      await tables.addSpans([{ ...buildSpan({ traceId }), ...({ statusCode, kind } as Partial<Span>) }]);
    }
    const store = await storeOn(tables);
    expect((await readOne(store, traceId))?.spans.map((each) => each.statusCode).sort()).toEqual([
      'Error',
      'Error',
      'Ok',
      'Unset',
      'Unset',
      'Unset',
    ]);
    const found = await store.unknownWords();
    expect(found).toEqual([
      { column: 'StatusCode', word: 'failed', rows: 2 },
      { column: 'StatusCode', word: '2', rows: 1 },
      { column: 'SpanKind', word: 'remote', rows: 1 },
    ]);
    expect(describeUnknown(found, 'otel.otel_traces')).toMatchObject([
      {
        check: 'StatusCode of otel.otel_traces',
        status: 'warning',
        detail: 'unknown words, which count as unset: failed (2 rows), 2 (1 rows)',
      },
      { check: 'SpanKind of otel.otel_traces', status: 'warning' },
    ]);
    expect(await base.store.unknownWords()).toEqual([]);
  });
});
