import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinTraceKey } from '../../../src/store/contracts/stores.ts';
import type { Database } from '../../../src/store/database.ts';
import { openDatabase } from '../../../src/store/open-database.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { post, protobuf } from '../../support/collector/otlp-post.ts';
import { requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';
import { newTraceId, testStore, type TestStore } from '../../support/store/store-rows.ts';
import { type TestCollector, startTestCollector } from '../../support/collector/test-collector.ts';

let store: TestStore;
let database: Database;
let collector: TestCollector;

beforeAll(async () => {
  store = await testStore();
  database = openDatabase(store.options);
  await database.command("ALTER TABLE otel_traces ADD CONSTRAINT no_poison CHECK SpanName != 'poison'");
  const { sink, deadLetters } = store.store;
  const http = { host: '127.0.0.1', port: 0 };
  collector = await startTestCollector({
    sink,
    deadLetters,
    http,
    log: silentLog,
    limits: { insertRetries: 0 },
  });
});
afterAll(async () => {
  await collector.stop();
  await database.close();
  await store.stop();
});

async function storedNames(traceId: string): Promise<string[]> {
  const key = { tenant: '', traceId };
  const read = (await store.store.spans.read([key])).get(joinTraceKey(key));
  return (read?.spans ?? []).map((span) => span.name).sort();
}

function request(traceId: string, names: readonly string[]) {
  return traceRequest(names.map((name) => jsonSpan({ name, traceId })));
}

describe('a row that the store refuses', () => {
  it('is set aside, its neighbours are stored, and all senders are answered; its bytes can be inserted later', async () => {
    const traceId = newTraceId();
    const [mixed, good] = await Promise.all([
      post(collector.address, { body: request(traceId, ['a', 'poison', 'b']) }),
      post(collector.address, protobuf(requestBytes(request(traceId, ['c'])))),
    ]);
    expect([mixed.status, good.status, good.body]).toEqual([200, 200, '']);
    expect(JSON.parse(mixed.body)).toEqual({
      partialSuccess: { rejectedSpans: '1', errorMessage: expect.stringContaining('no_poison') },
    });
    expect(await storedNames(traceId)).toEqual(['a', 'b', 'c']);
    const [letter, ...others] = await store.store.deadLetters.list({ limit: 10 });
    expect(others).toEqual([]);
    expect(letter).toMatchObject({ source: 'otlp-http', signal: 'traces', code: 'store_rejected' });
    await database.command('ALTER TABLE otel_traces DROP CONSTRAINT no_poison');
    const chunks = [letter?.body ?? Buffer.alloc(0)];
    await store.store.sink.insert({ table: 'otel_traces', rows: 1, chunks }, 'again');
    expect(await storedNames(traceId)).toEqual(['a', 'b', 'c', 'poison']);
  });
});

describe('a table that is wrong', () => {
  it('is distinguished from wrong rows: nothing is set aside and senders retry', async () => {
    const before = await store.store.deadLetters.list({ limit: 100 });
    await expect(store.store.sink.check('otel_logs')).resolves.toBeUndefined();
    await database.command('ALTER TABLE otel_traces RENAME COLUMN Truncated TO Gone');
    await expect(store.store.sink.check('otel_traces')).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('Truncated Array(String) (is missing)'),
    });
    const refused = await post(collector.address, { body: request(newTraceId(), ['a', 'b']) });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    await database.command('ALTER TABLE otel_traces RENAME COLUMN Gone TO Truncated');
    const taken = await post(collector.address, { body: request(newTraceId(), ['a', 'b']) });
    expect(taken).toMatchObject({ status: 200, body: '{}' });
    expect(await store.store.deadLetters.list({ limit: 100 })).toEqual(before);
  });
});
