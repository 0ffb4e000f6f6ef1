import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Keep } from '../../../collector/limits.ts';
import { readTrace } from '../../../src/conventions/index.ts';
import { STUB_MARK } from '../../../src/conventions/kept-content.ts';
import type { TraceData } from '../../../src/domain/trace/span.ts';
import { joinTraceKey } from '../../../src/store/contracts/stores.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { post, protobuf } from '../../support/collector/otlp-post.ts';
import { type Json, requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { attribute, jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';
import { testStore, type TestStore } from '../../support/store/store-rows.ts';
import { type TestCollector, startTestCollector } from '../../support/collector/test-collector.ts';

const RECORDED = new URL('../../fixtures/spans/ai-sdk-v7-new.traces.jsonl', import.meta.url);
const TRACE_ID = '11f9d845dab14324be6966ea320d72ad';
const HTTP_ROOT = 'aaaaaaaaaaaaaaaa';

let store: TestStore;
const collectors: TestCollector[] = [];

beforeAll(async () => {
  store = await testStore();
});
afterAll(async () => {
  await Promise.all(collectors.map((collector) => collector.stop()));
  await store.stop();
});

/** The recorded requests with their root below an HTTP server's span, and a database call below that. */
function requests(): Json[] {
  const below = (_key: string, value: unknown): unknown => {
    const isSpan = typeof value === 'object' && value !== null && 'spanId' in value;
    return isSpan ? { parentSpanId: HTTP_ROOT, ...value } : value;
  };
  const lines = readFileSync(RECORDED, 'utf8').split('\n').filter(Boolean);
  const recorded = lines.map((line) => JSON.parse(line, below) as Json);
  const foreign = (spanId: string, parentSpanId: string, name: string): Json =>
    jsonSpan({
      traceId: TRACE_ID,
      spanId,
      parentSpanId,
      name,
      attributes: [attribute('http.route', '/chat')],
    });
  const around = [foreign(HTTP_ROOT, '', 'POST /chat'), foreign('bbbbbbbbbbbbbbbb', HTTP_ROOT, 'SELECT')];
  return [...recorded, traceRequest(around)];
}

/** Takes the requests in as a tenant of its own; what the store then has. */
async function stored(keep: Keep) {
  const collector = await startTestCollector({
    sink: store.store.sink,
    deadLetters: store.store.deadLetters,
    http: { host: '127.0.0.1', port: 0 },
    log: silentLog,
    keep,
    authenticate: () => ({ tenant: keep }),
  });
  collectors.push(collector);
  for (const [index, request] of requests().entries()) {
    const sent = index % 2 === 0 ? { body: request } : protobuf(requestBytes(request));
    expect((await post(collector.address, sent)).status).toBe(200);
  }
  const key = { tenant: keep, traceId: TRACE_ID };
  const data = (await store.store.spans.read([key])).get(joinTraceKey(key));
  const activity = (await store.store.spans.activity([key])).get(joinTraceKey(key));
  const now = await store.store.spans.nowMs();
  const arrivals = await store.store.spans.arrivals(now - 600_000, now + 1_000);
  const mine = arrivals.find((arrival) => arrival.tenant === keep);
  return {
    data: data as TraceData,
    activity,
    arrival: mine,
    stubs: collector.count('spanscore.receiver.spans.stubbed'),
  };
}

describe('keeping agent spans only', () => {
  it('gives the same tree, readiness and reading as keeping everything', async () => {
    const all = await stored('all');
    const few = await stored('agent-spans');
    const stubs = few.data.spans.filter((span) => span.truncated?.includes(STUB_MARK));
    expect([all.stubs, few.stubs, new Set(stubs.map(({ name }) => name))]).toEqual([
      0,
      2,
      new Set(['POST /chat', 'SELECT']),
    ]);
    expect(stubs.flatMap((span) => [...span.attributes])).toEqual([]);
    expect(few.data.spans).toHaveLength(all.data.spans.length);
    expect(readTrace(few.data)).toEqual(readTrace(all.data));
    expect(readTrace(few.data).runs).toHaveLength(1);
    expect(few.data.spans.filter((span) => span.parentSpanId === '').map(({ name }) => name)).toEqual([
      'POST /chat',
    ]);
    expect(few.activity).toMatchObject({
      rootSeen: true,
      agentSeen: true,
      firstStartUnixNano: all.activity?.firstStartUnixNano,
      lastEndUnixNano: all.activity?.lastEndUnixNano,
    });
    const { spanIds = [], parentIds = [] } = few.arrival ?? {};
    expect([new Set(spanIds), new Set(parentIds)]).toEqual([
      new Set(all.arrival?.spanIds),
      new Set(all.arrival?.parentIds),
    ]);
  });
});
