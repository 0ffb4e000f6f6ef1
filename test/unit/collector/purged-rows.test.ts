import { expect, test } from 'vitest';
import { decodeRequest } from '../../../collector/otlp/decode-request.ts';
import { dropPurgedRows } from '../../../collector/otlp/row-pieces.ts';
import { NOTHING_PURGED, type PurgedTraces } from '../../../src/store/contracts/purge.ts';
import {
  attribute,
  jsonLog,
  jsonSpan,
  logRequest,
  traceRequest,
} from '../../support/builders/otlp-requests.ts';
import { newTraceId } from '../../support/store/store-rows.ts';
import { readRows } from '../../support/store/row-binary-reader.ts';
import { testCollector } from '../../support/collector/test-collector.ts';
import { post } from '../../support/collector/otlp-post.ts';
import { StoreUnavailableError } from '../../../src/domain/errors.ts';

const [kept, gone] = [newTraceId(), newTraceId()];
const purged: PurgedTraces = { ...NOTHING_PURGED, isEmpty: false, has: ({ traceId }) => traceId === gone };

const bytesOf = (request: unknown) => Buffer.from(JSON.stringify(request));

test('rows of purged traces go, the others stay as they are, for spans and for logs', () => {
  const spans = traceRequest([gone, kept, gone, kept].map((traceId) => jsonSpan({ traceId })));
  const logs = logRequest(
    [kept, gone].map((traceId) => jsonLog({ traceId, attributes: [attribute('gen_ai.system', 'x')] })),
  );
  for (const [signal, request, count] of [
    ['traces', spans, 2],
    ['logs', logs, 1],
  ] as const) {
    const { pieces, table } = decodeRequest(signal, 'json', bytesOf(request), 'a');
    const [piece] = pieces;
    const result = dropPurgedRows(piece!, 'a', purged);

    expect(result.purged).toBe(count);
    expect(result.piece.ends.at(-1)).toBe(result.piece.bytes.length);
    const ids = readRows(table, result.piece.bytes).map((row) => row['TraceId']);
    expect(ids).toEqual(Array.from({ length: result.piece.rows }, () => kept));
    expect(dropPurgedRows(piece!, 'a', NOTHING_PURGED).piece).toBe(piece);
  }
});

test('while the tombstones cannot be read, senders get a retryable refusal and nothing is stored', async () => {
  const renew = () => Promise.reject(new StoreUnavailableError('the store is away'));
  const { collector, sink } = await testCollector({ purged: { ...purged, renew } });
  const { status } = await post(collector.address, { body: traceRequest([jsonSpan()]) });
  await collector.stop();

  expect(status).toBe(503);
  expect(sink.rows()).toEqual([]);
});
