import {
  JsonTraceSerializer,
  ProtobufLogsSerializer,
  ProtobufTraceSerializer,
} from '@opentelemetry/otlp-transformer';
import { describe, expect, it } from 'vitest';
import { createMemoryLimiter } from '../../../collector/memory-limiter.ts';
import { encodeExportResponse, encodeStatus } from '../../../collector/otlp/reply.ts';
import { HttpRefusal, toHttpFailure } from '../../../collector/receivers/http-refusal.ts';
import {
  AppError,
  InvalidInputError,
  StoreRejectedError,
  StoreUnavailableError,
} from '../../../src/domain/errors.ts';

describe('an export response', () => {
  const partial = {
    rejected: 2,
    setAside: 1,
    purged: 0,
    reasons: ['spans[0]: traceId has 2 bytes; it must have 16'],
  };

  it('is empty after a full success', () => {
    expect(
      encodeExportResponse('traces', 'protobuf', { rejected: 0, setAside: 0, purged: 0, reasons: [] }),
    ).toHaveLength(0);
    expect(
      encodeExportResponse('logs', 'json', { rejected: 0, setAside: 0, purged: 0, reasons: [] }).toString(),
    ).toBe('{}');
  });

  it('tells a partial success so that the real SDK reads it', () => {
    const expected = {
      partialSuccess: {
        rejectedSpans: 3,
        errorMessage: '3 spans rejected: spans[0]: traceId has 2 bytes; it must have 16',
      },
    };
    const protobuf = encodeExportResponse('traces', 'protobuf', partial);
    expect(ProtobufTraceSerializer.deserializeResponse(protobuf)).toEqual(expected);
    const json = JsonTraceSerializer.deserializeResponse(encodeExportResponse('traces', 'json', partial));
    expect(json).toMatchObject({
      partialSuccess: { rejectedSpans: '3', errorMessage: expected.partialSuccess.errorMessage },
    });
    const logs = ProtobufLogsSerializer.deserializeResponse(
      encodeExportResponse('logs', 'protobuf', partial),
    );
    expect(logs).toMatchObject({ partialSuccess: { rejectedLogRecords: 3 } });
  });

  it('stays small however much was wrong', () => {
    const reasons = Array.from({ length: 20 }, () => 'é'.repeat(10_000));
    expect(
      encodeExportResponse('traces', 'protobuf', { rejected: 1e6, setAside: 0, purged: 0, reasons }).length,
    ).toBeLessThan(20_000);
  });
});

describe('an error status', () => {
  it('carries code and message in either encoding', () => {
    expect(JSON.parse(encodeStatus('json', 3, 'bad "body"').toString())).toEqual({
      code: 3,
      message: 'bad "body"',
    });
    expect([...encodeStatus('protobuf', 14, 'no')]).toEqual([0x08, 14, 0x12, 2, 0x6e, 0x6f]);
  });
});

describe('an error as an HTTP reply', () => {
  const overloaded = new AppError('full', { code: 'overloaded', stage: 'receive', retryable: true });
  const tooLarge = new AppError('big', { code: 'input_too_large', stage: 'receive', retryable: false });

  it.each<[unknown, number, number, string | undefined]>([
    [new InvalidInputError('broken'), 400, 3, undefined],
    [new StoreRejectedError('refused'), 400, 3, undefined],
    [tooLarge, 413, 3, undefined],
    [overloaded, 429, 8, '1'],
    [new StoreUnavailableError('down'), 503, 14, '1'],
    [new StoreUnavailableError('down', { retryAfterMs: 4_200 }), 503, 14, '5'],
    [new HttpRefusal(415, 'no'), 415, 3, undefined],
    [new TypeError('bug'), 500, 13, undefined],
  ])('%s becomes %i', (error, status, code, retryAfter) => {
    const failure = toHttpFailure(error, 1_000);
    expect(failure).toMatchObject({ status, code });
    expect(failure.headers['Retry-After']).toBe(retryAfter);
  });

  it('does not show the text of an unexpected error', () => {
    expect(toHttpFailure(new TypeError('secret'), 1_000).message).not.toContain('secret');
  });
});

describe('a memory limiter', () => {
  it('limits the bytes of all leases together and gets all of them back', () => {
    const limiter = createMemoryLimiter(100, 1_000);
    const one = limiter.lease();
    const two = limiter.lease();
    one.hold(60);
    expect(() => two.hold(50)).toThrow(/in flight/);
    two.hold(40);
    one.free(1_000);
    expect(limiter.heldBytes).toBe(40);
    two.release();
    two.release();
    expect(limiter.heldBytes).toBe(0);
  });
});
