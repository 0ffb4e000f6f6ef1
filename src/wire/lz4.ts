import { InvalidInputError } from '../domain/errors.ts';

/** Output of a decompressor. It grows as needed, up to `maxBytes`. */
export class BoundedOutput {
  #bytes: Buffer;
  #length = 0;
  readonly #maxBytes: number;

  constructor(expectedBytes: number, maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(64, Math.min(expectedBytes, maxBytes)));
  }

  get length(): number {
    return this.#length;
  }

  /** Appends bytes of the source. */
  literal(source: Buffer, start: number, end: number): void {
    if (end > source.length || end < start) {
      throw new InvalidInputError('compressed data ends too early');
    }
    this.#reserve(end - start);
    source.copy(this.#bytes, this.#length, start, end);
    this.#length += end - start;
  }

  /** Repeats `size` bytes from `distance` bytes back; the two ranges may overlap. */
  repeat(distance: number, size: number): void {
    if (distance === 0 || distance > this.#length) {
      throw new InvalidInputError('compressed data refers to bytes before its beginning');
    }
    this.#reserve(size);
    const end = this.#length + size;
    while (this.#length < end) {
      const from = this.#length - Math.min(distance, this.#length);
      const count = Math.min(distance, end - this.#length);
      this.#bytes.copyWithin(this.#length, from, from + count);
      this.#length += count;
    }
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed > this.#maxBytes) {
      throw new InvalidInputError(`compressed data has more than ${this.#maxBytes} bytes`);
    }
    if (needed > this.#bytes.length) {
      const size = Math.min(this.#maxBytes, Math.max(needed, this.#bytes.length * 2));
      const grown = Buffer.allocUnsafeSlow(size);
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
  }
}

// The LZ4 block format, version 1.5.1 (github.com/lz4/lz4, doc/). The libraries in plain JavaScript are not maintained any
// more, and native ones need a build for each system.

const MIN_MATCH = 4;

/**
 * Decompresses the block in `data` from `start` up to `end`. Throws an `InvalidInputError` when it is broken, or has more
 * bytes than the output allows.
 */
export function readLz4Block(data: Buffer, start: number, end: number, output: BoundedOutput): void {
  if (end > data.length) {
    throw new InvalidInputError('the LZ4 block ends too early');
  }
  const reader = { data, at: start, end };
  while (reader.at < end) {
    const token = next(reader);
    const literals = lengthFrom(reader, token >>> 4);
    output.literal(data, reader.at, reader.at + literals);
    reader.at += literals;
    if (reader.at >= end) {
      return;
    }
    const distance = next(reader) | (next(reader) << 8);
    output.repeat(distance, lengthFrom(reader, token & 0x0f) + MIN_MATCH);
  }
}

interface BlockReader {
  readonly data: Buffer;
  at: number;
  readonly end: number;
}

function next(reader: BlockReader): number {
  if (reader.at >= reader.end) {
    throw new InvalidInputError('the LZ4 block ends too early');
  }
  return reader.data[reader.at++] ?? 0;
}

/** Reads a length: 15 in a token means that more bytes follow, each up to 255, the last one below 255. */
function lengthFrom(reader: BlockReader, first: number): number {
  let length = first;
  for (let more = first === 15 ? 255 : 0; more === 255;) {
    more = next(reader);
    length += more;
  }
  return length;
}

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
