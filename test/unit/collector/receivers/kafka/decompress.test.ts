import { describe, expect, it } from 'vitest';
import { decompressLz4 } from '../../../../../src/wire/lz4.ts';
import { decompressSnappy } from '../../../../../collector/receivers/kafka/snappy.ts';
import { InvalidInputError } from '../../../../../src/domain/errors.ts';
import { fc } from '../../../../support/fast-check.ts';

const LIMIT = 1_000;

/** One frame: independent blocks, no checksums. */
function frame(...blocks: readonly Buffer[]): Buffer {
  const parts = blocks.map((block) => {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(block.length);
    return Buffer.concat([size, block]);
  });
  return Buffer.concat([Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0]), ...parts, Buffer.alloc(4)]);
}

/** "abc" then 297 bytes more of it from three bytes back. */
const REPEATING_BLOCK = Buffer.from([0x3f, 0x61, 0x62, 0x63, 3, 0, 255, 23, 0x10, 0x21]);
const REPEATED = `${'abc'.repeat(100)}!`;

describe('LZ4', () => {
  it('reads literals, overlapping repeats, plain blocks and frames one after another', () => {
    expect(decompressLz4(frame(REPEATING_BLOCK), LIMIT).toString()).toBe(REPEATED);
    const plain = frame(Buffer.from('xyz'));
    plain.writeUInt32LE(0x8000_0003, 7);
    expect(decompressLz4(Buffer.concat([plain, plain]), LIMIT).toString()).toBe('xyzxyz');
    expect(decompressLz4(Buffer.alloc(0), LIMIT)).toHaveLength(0);
  });

  it('stops at the limit', () => {
    expect(decompressLz4(frame(REPEATING_BLOCK), 301)).toHaveLength(301);
    expect(() => decompressLz4(frame(REPEATING_BLOCK), 300)).toThrow(/more than 300 bytes/);
  });

  it.each([
    ['no frame', Buffer.from('nothing of the kind')],
    ['a repeat from before the beginning', frame(Buffer.from([0x10, 0x61, 9, 0, 0x00]))],
    ['a repeat from nowhere', frame(Buffer.from([0x10, 0x61, 0, 0, 0x00]))],
    ['a literal beyond the end', frame(Buffer.from([0xf0, 200, 0x61]))],
    ['a length without an end', frame(Buffer.from([0xf0, 255, 255]))],
    ['no end mark', frame(REPEATING_BLOCK).subarray(0, -4)],
    ['half a block', frame(REPEATING_BLOCK).subarray(0, -8)],
  ])('refuses %s', (_, data) => {
    expect(() => decompressLz4(data, LIMIT)).toThrow(InvalidInputError);
  });
});

/** "abc" and 297 bytes more of it: copies of up to 64 bytes from three bytes back. */
const SNAPPY = Buffer.concat([
  Buffer.from([0xad, 0x02, 0x08, 0x61, 0x62, 0x63]),
  ...[64, 64, 64, 64, 41].map((size) => Buffer.from([((size - 1) << 2) | 2, 3, 0])),
  Buffer.from([0x00, 0x21]),
]);

function stream(...blocks: readonly Buffer[]): Buffer {
  const head = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
  const parts = blocks.map((block) => {
    const size = Buffer.alloc(4);
    size.writeInt32BE(block.length);
    return Buffer.concat([size, block]);
  });
  return Buffer.concat([head, ...parts]);
}

describe('Snappy', () => {
  it('reads a bare block, and the blocks of a Java stream', () => {
    expect(decompressSnappy(SNAPPY, LIMIT).toString()).toBe(REPEATED);
    expect(decompressSnappy(stream(SNAPPY, SNAPPY), LIMIT).toString()).toBe(REPEATED + REPEATED);
  });

  it('stops at the limit, by the stated and by the real size of a block', () => {
    expect(() => decompressSnappy(SNAPPY, 300)).toThrow(/more than 300 bytes/);
    expect(() => decompressSnappy(stream(SNAPPY, SNAPPY), 400)).toThrow(/more than 400 bytes/);
    const lying = Buffer.concat([Buffer.from([5]), SNAPPY.subarray(2)]);
    expect(() => decompressSnappy(lying, LIMIT)).toThrow(/more bytes than its length says/);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['a length alone', Buffer.from([5])],
    ['a length without an end', Buffer.from([255, 255, 255, 255, 255, 255])],
    ['a repeat from before the beginning', Buffer.from([4, 0x01, 9])],
    ['half a repeat', SNAPPY.subarray(0, 8)],
    ['half a stream', stream(SNAPPY).subarray(0, -5)],
    ['half a stream header', stream(SNAPPY).subarray(0, 18)],
  ])('refuses %s', (_, data) => {
    expect(() => decompressSnappy(data, LIMIT)).toThrow(InvalidInputError);
  });
});

describe('any input', () => {
  it.each([
    ['LZ4', decompressLz4, frame(REPEATING_BLOCK)],
    ['Snappy', decompressSnappy, SNAPPY],
    ['a Snappy stream', decompressSnappy, stream(SNAPPY)],
  ])('%s ends within the limit or is refused', (_, decompress, good) => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 6 }),
        fc.uint8Array({ maxLength: 40 }),
        (changes, tail) => {
          const data = Buffer.concat([good, tail]);
          for (const [at, byte] of changes) {
            data[at] = byte;
          }
          const outcome = computeOutcome(() => decompress(data, LIMIT));
          expect(outcome instanceof InvalidInputError || outcome <= LIMIT).toBe(true);
        },
      ),
    );
  });
});

/** Number of decompressed bytes, or the error. */
function computeOutcome(decompress: () => Buffer): number | InvalidInputError {
  try {
    return decompress().length;
  } catch (error) {
    if (error instanceof InvalidInputError) {
      return error;
    }
    throw error;
  }
}
