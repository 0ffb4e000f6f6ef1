import type { BoundedOutput } from './bounded-output.ts';
import { InvalidInputError } from '../domain/errors.ts';

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
