import { BoundedOutput } from './bounded-output.ts';
import { InvalidInputError } from '../domain/errors.ts';
import { readLz4Block } from './lz4-block.ts';

// The LZ4 frame format, version 1.6.1 (github.com/lz4/lz4, doc/). Checksums are skipped: they detect damage, and Kafka and TCP have
// their own.

const MAGIC = 0x184d2204;
const HAS_DICTIONARY = 0x01;
const HAS_CONTENT_CHECKSUM = 0x04;
const HAS_CONTENT_SIZE = 0x08;
const HAS_BLOCK_CHECKSUMS = 0x10;
const PLAIN_BLOCK = 0x8000_0000;
const USUAL_RATIO = 4;

/** Decompresses LZ4 frames. Throws an `InvalidInputError` when they are broken or have more than `maxBytes`. */
export function decompressLz4(data: Buffer, maxBytes: number): Buffer {
  const output = new BoundedOutput(data.length * USUAL_RATIO, maxBytes);
  for (let at = 0; at < data.length;) {
    at = readFrame(data, at, output);
  }
  return output.finish();
}

/** Reads a frame. Returns the position after it. */
function readFrame(data: Buffer, start: number, output: BoundedOutput): number {
  if (start + 7 > data.length || data.readUInt32LE(start) !== MAGIC) {
    throw new InvalidInputError('not an LZ4 frame');
  }
  const flags = data.readUInt8(start + 4);
  if ((flags & HAS_DICTIONARY) !== 0) {
    throw new InvalidInputError('the LZ4 frame needs a dictionary');
  }
  let at = start + 6 + ((flags & HAS_CONTENT_SIZE) === 0 ? 0 : 8) + 1;
  for (;;) {
    if (at + 4 > data.length) {
      throw new InvalidInputError('the LZ4 frame ends too early');
    }
    const header = data.readUInt32LE(at);
    at += 4;
    if (header === 0) {
      return at + ((flags & HAS_CONTENT_CHECKSUM) === 0 ? 0 : 4);
    }
    const end = at + (header & 0x7fff_ffff);
    if ((header & PLAIN_BLOCK) === 0) {
      readLz4Block(data, at, end, output);
    } else {
      output.literal(data, at, end);
    }
    at = end + ((flags & HAS_BLOCK_CHECKSUMS) === 0 ? 0 : 4);
  }
}
