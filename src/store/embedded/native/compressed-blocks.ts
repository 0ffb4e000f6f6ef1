import { zstdDecompressSync } from 'node:zlib';
import { BoundedOutput } from '../../../wire/bounded-output.ts';
import { readErrorMessage } from '../../../domain/errors.ts';
import { readLz4Block } from '../../../wire/lz4-block.ts';
import { cityHash128 } from './city-hash-128.ts';
import { EngineError } from '../engine-error.ts';
import { MAX_BLOCK_BYTES } from '../limits.ts';

// ClickHouse's own compression: a sequence of blocks. Each block has a hash of the bytes after it, a method, its size with
// method and sizes, its size when decompressed, and the data.

const HASH_BYTES = 16;
const HEADER_BYTES = 9;
const PREFIX_BYTES = HASH_BYTES + HEADER_BYTES;
const METHOD_NONE = 0x02;
const METHOD_LZ4 = 0x82;
const METHOD_ZSTD = 0x90;
const USUAL_RATIO = 4;
/** Size of the blocks in a reply. Servers use the same size. */
const REPLY_BLOCK_BYTES = 1024 * 1024;

/**
 * Decompresses blocks that arrive in chunks. Throws `EngineError` INCORRECT_DATA for a block that is broken or does not
 * match its hash. Throws QUERY_IS_TOO_LARGE for a block above `MAX_BLOCK_BYTES`, before it receives the block.
 */
export async function* decompressedBlocks(data: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let needed = PREFIX_BYTES;
  for await (const chunk of data) {
    held.push(chunk);
    heldBytes += chunk.length;
    if (heldBytes < needed) {
      continue;
    }
    let rest = Buffer.concat(held);
    for (needed = bytesOfBlock(rest); needed <= rest.length; needed = bytesOfBlock(rest)) {
      yield decompressedBlock(rest.subarray(0, needed));
      rest = rest.subarray(needed);
    }
    held = [rest];
    heldBytes = rest.length;
  }
  if (heldBytes > 0) {
    throw new EngineError('INCORRECT_DATA', 'The compressed data ends within a block');
  }
}

/**
 * Returns the size of the first block in bytes. Before the block's sizes have arrived, returns the number of bytes needed
 * to read them.
 */
function bytesOfBlock(bytes: Buffer): number {
  if (bytes.length < PREFIX_BYTES) {
    return PREFIX_BYTES;
  }
  const size = bytes.readUInt32LE(HASH_BYTES + 1);
  const plainSize = bytes.readUInt32LE(HASH_BYTES + 5);
  if (size < HEADER_BYTES) {
    throw new EngineError('INCORRECT_DATA', `A compressed block cannot have ${size} bytes`);
  }
  if (size > MAX_BLOCK_BYTES || plainSize > MAX_BLOCK_BYTES) {
    throw new EngineError(
      'QUERY_IS_TOO_LARGE',
      `A compressed block of ${size} bytes, ${plainSize} when decompressed: ${MAX_BLOCK_BYTES} are allowed, send smaller batches`,
    );
  }
  return HASH_BYTES + size;
}

/** Decompresses one whole block. */
function decompressedBlock(block: Buffer): Buffer {
  const hash = block.subarray(0, HASH_BYTES);
  const hashed = block.subarray(HASH_BYTES);
  if (!cityHash128(hashed).equals(hash)) {
    throw new EngineError('INCORRECT_DATA', 'A compressed block does not match its hash: damaged on its way');
  }
  const method = hashed.readUInt8(0);
  const size = hashed.readUInt32LE(5);
  const plain = readData(method, hashed.subarray(HEADER_BYTES), size);
  if (plain.length !== size) {
    throw new EngineError(
      'INCORRECT_DATA',
      `A compressed block says that it holds ${size} bytes, and holds ${plain.length}`,
    );
  }
  return plain;
}

function readData(method: number, data: Buffer, size: number): Buffer {
  if (method === METHOD_NONE) {
    return data;
  }
  if (method !== METHOD_LZ4 && method !== METHOD_ZSTD) {
    throw new EngineError(
      'INCORRECT_DATA',
      `Unknown compression method 0x${method.toString(16)} of a block; use lz4, zstd or none`,
    );
  }
  try {
    return method === METHOD_LZ4
      ? readLz4Data(data, size)
      : zstdDecompressSync(data, { maxOutputLength: Math.max(size, 1) });
  } catch (error) {
    throw new EngineError('INCORRECT_DATA', `A compressed block cannot be read: ${readErrorMessage(error)}`);
  }
}

function readLz4Data(data: Buffer, size: number): Buffer {
  // The size in a block may be wrong: the first allocation depends on the size of the compressed data.
  const output = new BoundedOutput(Math.min(size, data.length * USUAL_RATIO), size);
  readLz4Block(data, 0, data.length, output);
  return output.finish();
}

/** Splits data into blocks of the method "none", which every client can read. */
export function* plainBlocks(data: Uint8Array): Generator<Buffer> {
  for (let at = 0; at < data.length; at += REPLY_BLOCK_BYTES) {
    const part = data.subarray(at, at + REPLY_BLOCK_BYTES);
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt8(METHOD_NONE, 0);
    header.writeUInt32LE(HEADER_BYTES + part.length, 1);
    header.writeUInt32LE(part.length, 5);
    const hashed = Buffer.concat([header, part]);
    yield Buffer.concat([cityHash128(hashed), hashed]);
  }
}
