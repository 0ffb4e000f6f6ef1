import { promisify } from 'node:util';
import { gunzip, gzip, zstdCompress, zstdDecompress, type ZlibOptions, type ZstdOptions } from 'node:zlib';
import kafkajs, { CompressionTypes } from 'kafkajs';
import { AppError, readErrorMessage } from '../../../src/domain/errors.ts';
import { decompressLz4 } from './lz4.ts';
import { listPoisonRecords } from './poison-records.ts';
import { decompressSnappy } from './snappy.ts';

type Decompress = (data: Buffer, maxBytes: number) => Promise<Buffer> | Buffer;
type Compress = (data: Buffer) => Promise<Buffer>;

const gunzipAsync = promisify<Buffer, ZlibOptions, Buffer>(gunzip);
const zstdAsync = promisify<Buffer, ZstdOptions, Buffer>(zstdDecompress);

interface Codec {
  readonly decompress: Decompress;
  readonly compress: Compress;
}

const GZIP: Codec = {
  decompress: (data, maxOutputLength) => gunzipAsync(data, { maxOutputLength }),
  compress: promisify(gzip),
};
const ZSTD: Codec = {
  decompress: (data, maxOutputLength) => zstdAsync(data, { maxOutputLength }),
  compress: promisify(zstdCompress),
};
const LZ4: Codec = { decompress: decompressLz4, compress: readsOnly('lz4') };
const SNAPPY: Codec = { decompress: decompressSnappy, compress: readsOnly('snappy') };

/**
 * Installs all codecs of Kafka in the client, once for the whole process, because the client keeps codecs in a global
 * table. Each codec returns at most `maxBytes` for a batch. A batch that cannot be decompressed becomes stand-in records
 * instead of stopping the client.
 */
export function installCodecs(maxBytes: number): void {
  const { CompressionCodecs } = kafkajs;
  CompressionCodecs[CompressionTypes.GZIP] = () => bounded(GZIP, maxBytes);
  CompressionCodecs[CompressionTypes.ZSTD] = () => bounded(ZSTD, maxBytes);
  CompressionCodecs[CompressionTypes.LZ4] = () => bounded(LZ4, maxBytes);
  CompressionCodecs[CompressionTypes.Snappy] = () => bounded(SNAPPY, maxBytes);
}

/** Returns a codec in the shape of the client. */
function bounded({ compress, decompress }: Codec, maxBytes: number) {
  return {
    compress: ({ buffer }: { readonly buffer: Buffer }) => compress(buffer),
    decompress: async (data: Buffer): Promise<Buffer> => {
      try {
        return await decompress(data, maxBytes);
      } catch (error) {
        return listPoisonRecords(data, `the batch cannot be decompressed: ${readErrorMessage(error)}`);
      }
    },
  };
}

function readsOnly(name: string): Compress {
  return () =>
    Promise.reject(
      new AppError(`${name} is read and not written`, { code: 'bug', stage: 'receive', retryable: false }),
    );
}
