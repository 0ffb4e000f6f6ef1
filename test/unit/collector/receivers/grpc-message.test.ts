import { describe, expect, it } from 'vitest';
import { grpcTimeoutMs } from '../../../../collector/receivers/otlp-grpc.ts';
import { InvalidInputError } from '../../../../src/domain/errors.ts';

describe('grpc-timeout', () => {
  it.each([
    [undefined, undefined],
    ['1H', 3_600_000],
    ['2M', 120_000],
    ['10S', 10_000],
    ['250m', 250],
    ['4999905u', 4_999.905],
    ['99999999n', 99.999_999],
  ])('%s is %s ms', (header, expected) => {
    const ms = grpcTimeoutMs(header);
    expect(ms === undefined ? ms : Math.round(ms * 1e6) / 1e6).toBe(expected);
  });

  it.each(['', '10', 'S', '-1S', '1.5S', '123456789S', '5s'])('%j is refused', (header) => {
    expect(() => grpcTimeoutMs(header)).toThrow(InvalidInputError);
  });
});
