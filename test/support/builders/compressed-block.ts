import { zstdCompressSync } from 'node:zlib';
import { cityHash128 } from '../../../src/store/embedded/native/city-hash-128.ts';

/** Builds a block of ClickHouse's compression with a valid hash, for any content. */
export function buildBlock(
  method: number,
  data: Uint8Array,
  plainSize: number,
  size: number = 9 + data.length,
): Buffer {
  const header = Buffer.alloc(9);
  header.writeUInt8(method, 0);
  header.writeUInt32LE(size, 1);
  header.writeUInt32LE(plainSize, 5);
  const hashed = Buffer.concat([header, data]);
  return Buffer.concat([cityHash128(hashed), hashed]);
}

/** Encodes an LZ4 block of one literal: a valid block that saves no space. */
function lz4Literal(plain: Uint8Array): Buffer {
  if (plain.length < 15) {
    return Buffer.concat([Buffer.from([plain.length << 4]), plain]);
  }
  const more = plain.length - 15;
  const lengths = [...Array.from({ length: Math.floor(more / 255) }, () => 255), more % 255];
  return Buffer.concat([Buffer.from([0xf0, ...lengths]), plain]);
}

/** Compresses `plain` into one block with this method. */
export function compressedBlock(method: 'none' | 'lz4' | 'zstd', plain: Uint8Array): Buffer {
  if (method === 'none') {
    return buildBlock(0x02, plain, plain.length);
  }
  return method === 'lz4'
    ? buildBlock(0x82, lz4Literal(plain), plain.length)
    : buildBlock(0x90, zstdCompressSync(plain), plain.length);
}
