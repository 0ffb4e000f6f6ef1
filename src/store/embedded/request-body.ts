import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { decompressLz4 } from '../../wire/lz4.ts';
import { EngineError } from './engine-error.ts';

/** All of a body, or `EngineError` when it has more than `maxBytes`. */
export async function readAll(data: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of data) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      throw new EngineError(
        'QUERY_IS_TOO_LARGE',
        `A statement may have ${maxBytes} bytes; send the data of an insert in the body and the statement in the URL`,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

type Decompress = (body: Buffer, options: { maxOutputLength: number }) => Buffer;

const DECOMPRESS = new Map<string, Decompress>([
  ['gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
  ['zstd', zstdDecompressSync],
  // The usual compression of inserts of clickhouse-connect.
  ['lz4', (body, { maxOutputLength }) => decompressLz4(body, maxOutputLength)],
]);

/** A compressed body, restored; `EngineError` when it is broken or larger than `maxBytes`. */
export function decompressed(body: Buffer, compression: string | undefined, maxBytes: number): Buffer {
  if (compression === undefined || body.length === 0) {
    return body;
  }
  const decompress = DECOMPRESS.get(compression);
  if (decompress === undefined) {
    throw new EngineError('NOT_IMPLEMENTED', `A statement cannot be compressed by ${compression}; use gzip`);
  }
  try {
    return decompress(body, { maxOutputLength: maxBytes });
  } catch (error) {
    throw new EngineError('INCORRECT_DATA', `The ${compression} body cannot be read: ${String(error)}`);
  }
}
