import { BoundedOutput } from '../../../src/wire/lz4.ts';
import { InvalidInputError } from '../../../src/domain/errors.ts';

// The Snappy format (github.com/google/snappy, format_description.txt), bare or in the blocks of Java's snappy stream.

const STREAM_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
/** Bytes of the magic and of two versions of four bytes each. */
const STREAM_HEADER_BYTES = 16;

/** Decompresses Snappy. Throws an `InvalidInputError` when the data is broken or has more than `maxBytes`. */
export function decompressSnappy(data: Buffer, maxBytes: number): Buffer {
  if (!data.subarray(0, STREAM_MAGIC.length).equals(STREAM_MAGIC)) {
    const output = new BoundedOutput(data.length * 4, maxBytes);
    readBlock(data, output, maxBytes);
    return output.finish();
  }
  const output = new BoundedOutput(data.length * 4, maxBytes);
  for (let at = STREAM_HEADER_BYTES; at < data.length;) {
    const size = at + 4 <= data.length ? data.readInt32BE(at) : -1;
    const end = at + 4 + size;
    if (size < 0 || end > data.length) {
      throw new InvalidInputError('the Snappy stream ends too early');
    }
    readBlock(data.subarray(at + 4, end), output, maxBytes);
    at = end;
  }
  return output.finish();
}

function readBlock(block: Buffer, output: BoundedOutput, maxBytes: number): void {
  const { value: size, end: start } = readVarint(block);
  if (output.length + size > maxBytes) {
    throw new InvalidInputError(`compressed data has more than ${maxBytes} bytes`);
  }
  const expected = output.length + size;
  for (let at = start; at < block.length;) {
    at = readElement(block, at, output);
    if (output.length > expected) {
      throw new InvalidInputError('the Snappy block has more bytes than its length says');
    }
  }
  if (output.length !== expected) {
    throw new InvalidInputError('the Snappy block has fewer bytes than its length says');
  }
}

/** Reads one literal or copy. Returns the position of the next one. */
function readElement(block: Buffer, at: number, output: BoundedOutput): number {
  const tag = block[at] ?? 0;
  const upper = tag >>> 2;
  switch (tag & 3) {
    case 0: {
      const sizeBytes = upper < 60 ? 0 : upper - 59;
      const size = (sizeBytes === 0 ? upper : readUint(block, at + 1, sizeBytes)) + 1;
      const start = at + 1 + sizeBytes;
      output.literal(block, start, start + size);
      return start + size;
    }
    case 1:
      output.repeat(((tag >>> 5) << 8) | readUint(block, at + 1, 1), (upper & 7) + 4);
      return at + 2;
    case 2:
      output.repeat(readUint(block, at + 1, 2), upper + 1);
      return at + 3;
    default:
      output.repeat(readUint(block, at + 1, 4), upper + 1);
      return at + 5;
  }
}

function readUint(block: Buffer, at: number, bytes: number): number {
  if (at + bytes > block.length) {
    throw new InvalidInputError('the Snappy block ends too early');
  }
  return block.readUIntLE(at, bytes);
}

function readVarint(block: Buffer): { value: number; end: number } {
  let value = 0;
  for (let i = 0; i < 5; i++) {
    const byte = block[i];
    if (byte === undefined) {
      break;
    }
    value += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) {
      return { value, end: i + 1 };
    }
  }
  throw new InvalidInputError('the Snappy block has no length');
}
