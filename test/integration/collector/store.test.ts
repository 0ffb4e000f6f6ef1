import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeOtlpJson } from '../../../src/wire/otlp-json.ts';
import { joinTraceKey } from '../../../src/store/contracts/stores.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import {
  attribute,
  jsonLog,
  jsonSpan,
  logRequest,
  traceRequest,
} from '../../support/builders/otlp-requests.ts';
import { post, protobuf } from '../../support/collector/otlp-post.ts';
import { newTraceId, testStore, type TestStore } from '../../support/store/store-rows.ts';
import { type TestCollector, startTestCollector } from '../../support/collector/test-collector.ts';

let store: TestStore;
let collector: TestCollector;

beforeAll(async () => {
  store = await testStore();
  collector = await startTestCollector({
    sink: store.store.sink,
    deadLetters: store.store.deadLetters,
    http: { host: '127.0.0.1', port: 0 },
    log: silentLog,
  });
});
afterAll(async () => {
  await collector.stop();
  await store.stop();
});

async function stored(traceId: string) {
  const key = { tenant: '', traceId };
  return (await store.store.spans.read([key])).get(joinTraceKey(key));
}

describe('an acknowledged request', () => {
  it('reads back from the tables as it was sent, from protobuf and from JSON', async () => {
    const traceId = newTraceId();
    const spans = [
      jsonSpan({
        traceId,
        parentSpanId: 'b7ad6b7169203331',
        traceState: 'a=1',
        attributes: [
          attribute('gen_ai.input.messages', '[{"role":"user","content":"☔\\n\\nDROP TABLE otel_traces"}]'),
          { key: 'gen_ai.usage.input_tokens', value: { intValue: '9007199254740993' } },
          attribute('__proto__', 'kept'),
        ],
        events: [{ timeUnixNano: '1700000000000000003', name: 'e', attributes: [attribute('k', 'v')] }],
        links: [{ traceId, spanId: 'b7ad6b7169203331', traceState: 'x', attributes: [attribute('l', '1')] }],
        status: { code: 2, message: 'it broke' },
      }),
      jsonSpan({ traceId, startTimeUnixNano: '0', endTimeUnixNano: '1' }),
      jsonSpan({ traceId, startTimeUnixNano: '9223286395000000000', endTimeUnixNano: '1' }),
    ];
    const request = traceRequest(spans);
    const gzipped = gzipSync(requestBytes(request));
    const answers = await Promise.all([
      post(collector.address, protobuf(gzipped, { 'content-encoding': 'gzip' })),
      post(collector.address, { body: request }),
    ]);
    expect(answers.map((answer) => answer.status)).toEqual([200, 200]);
    const byId = (a: { spanId: string }, b: { spanId: string }): number => (a.spanId < b.spanId ? -1 : 1);
    const read = await stored(traceId);
    expect([...(read?.spans ?? [])].sort(byId)).toEqual(decodeOtlpJson(request).spans.sort(byId));
  });

  it('joins GenAI events to their trace', async () => {
    const traceId = newTraceId();
    const request = logRequest([jsonLog({ traceId })]);
    await post(collector.address, { path: '/v1/logs', body: request });
    expect((await stored(traceId))?.logs).toEqual(decodeOtlpJson(request).logs);
  });

  it('holds 200 distinct days in one request', async () => {
    const traceId = newTraceId();
    const day = 86_400_000_000_000n;
    const spans = Array.from({ length: 200 }, (_, i) =>
      jsonSpan({
        traceId,
        startTimeUnixNano: String(BigInt(i) * day),
        endTimeUnixNano: String(BigInt(i) * day),
      }),
    );
    const answer = await post(collector.address, { body: traceRequest(spans) });
    expect(answer).toMatchObject({ status: 200, body: '{}' });
    expect((await stored(traceId))?.spans).toHaveLength(200);
  });
});
