import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { answerWithin } from '../../../collector/collector.ts';
import type { ExportRequest, ExportResult } from '../../../collector/ingest.ts';
import { createMemoryLimiter } from '../../../collector/memory-limiter.ts';
import { InvalidInputError } from '../../../src/domain/errors.ts';

const limits = { answerWithinMs: 9_000, retryAfterMs: 1_000 };
const request: ExportRequest = {
  signal: 'traces',
  encoding: 'protobuf',
  origin: { tenant: '', source: 'otlp-http' },
  body: new Uint8Array(1),
};
const lease = createMemoryLimiter(1_000, 1_000).lease();
const done: ExportResult = { rejected: 0, setAside: 0, purged: 0, reasons: [] };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('an answer in time', () => {
  it('is the result of the request, when it is known', async () => {
    await expect(answerWithin(() => Promise.resolve(done), limits)(request, lease)).resolves.toBe(done);
    const refused = answerWithin(() => Promise.reject(new InvalidInputError('no request')), limits);
    await expect(refused(request, lease)).rejects.toThrow('no request');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('asks for a retry when the store hangs, for any later result of the rows', async () => {
    const store = Promise.withResolvers<ExportResult>();
    const answer = answerWithin(() => store.promise, limits)(request, lease).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(await answer).toMatchObject({
      code: 'store_unavailable',
      retryable: true,
      retryAfterMs: 1_000,
      message: expect.stringContaining('did not answer within 9000 ms') as string,
    });
    store.reject(new Error('what the store says later is nobody’s failure'));
    await vi.advanceTimersByTimeAsync(1);
  });
});
