import { createRequire } from 'node:module';
import type { ConnectionOptions } from 'node:tls';
import { promisify } from 'node:util';
import { gunzip, gzip, zstdCompress, zstdDecompress, type ZlibOptions, type ZstdOptions } from 'node:zlib';
import kafkajs, { CompressionTypes, Kafka, logLevel, type RetryOptions, type SASLOptions } from 'kafkajs';
import { AppError, readErrorMessage } from '../../../src/domain/errors.ts';
import type { Log } from '../../../src/telemetry/log.ts';
import { decompressLz4 } from '../../../src/wire/lz4.ts';
import { listPoisonRecords } from './poison-records.ts';
import { decompressSnappy } from './snappy.ts';
import { KNOWN_HEADERS } from './take-batch.ts';

// The only file that imports kafkajs. It holds the workarounds for kafkajs 2.2.4, which package.json pins exactly:
//   pauseIdleQueues  an idle connection sets a thousand timers a second
//   skipHeaders      20,000 headers of one record take seven minutes of the event loop
//   installCodecs    a batch that cannot be decompressed ends the consumer; lz4, snappy and zstd are missing; no limit of bytes
// CONTRIBUTING.md, "Libraries with an exact version", says what to check before another version.

export type { Admin, Consumer, EachBatchPayload, IHeaders, Kafka, KafkaMessage } from 'kafkajs';

export interface KafkaConnectionOptions {
  readonly brokers: readonly string[];
  readonly sasl?: SASLOptions;
  readonly tls?: ConnectionOptions;
  readonly log: Log;
}

/** Creates the client for these brokers; `more` are options of kafkajs. Connects to none yet. */
export function createKafka(
  { brokers, sasl, tls, log }: KafkaConnectionOptions,
  more: {
    readonly retry?: RetryOptions;
    readonly connectionTimeout?: number;
    readonly requestTimeout?: number;
  } = {},
): Kafka {
  pauseIdleQueues();
  skipHeaders();
  return new Kafka({
    clientId: 'spanscore',
    brokers: [...brokers],
    ...(tls === undefined ? {} : { ssl: tls }),
    ...(sasl === undefined ? {} : { sasl }),
    logLevel: logLevel.INFO,
    logCreator: () => (entry) => logClient(log, entry.level, entry.log.message, entry.log),
    retry: { retries: 5, initialRetryTime: 300 },
    ...more,
  });
}

/** Logs messages of the client at debug level; the caller logs their meaning for the operator. */
function logClient(log: Log, level: logLevel, message: string, extra: object): void {
  const { stack: _, timestamp: __, ...fields } = extra as Record<string, unknown>;
  log.debug('kafkajs', { ...fields, level, said: message });
}

/** Used part of kafkajs' queue of requests, one a connection. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
}

const require = createRequire(import.meta.url);
let isPaused = false;

/**
 * Stops the idle timers of kafkajs for the whole process. kafkajs 2.2.4 sets a timer after every reply, also when no
 * request waits. This timer is in the past, so Node 24 warns on stderr and the timer sets the next one: a thousand a second
 * on every connection (tulios/kafkajs, issue 1751). A version with a different queue is left unchanged.
 */
export function pauseIdleQueues(): void {
  const queue = isPaused ? undefined : readQueuePrototype();
  isPaused = true;
  if (queue === undefined) {
    return;
  }
  const schedule = queue.scheduleCheckPendingRequests;
  queue.scheduleCheckPendingRequests = function scheduleWherePending() {
    if (this.pending.length > 0) {
      schedule.call(this);
    }
  };
}

function readQueuePrototype(): RequestQueue | undefined {
  let loaded: unknown;
  try {
    loaded = require('kafkajs/src/network/requestQueue/index.js');
  } catch {
    // The file is no part of the library's public interface.
    return undefined;
  }
  const prototype: unknown = typeof loaded === 'function' ? loaded.prototype : undefined;
  const isKnown =
    typeof prototype === 'object' && prototype !== null && 'scheduleCheckPendingRequests' in prototype;
  return isKnown ? (prototype as RequestQueue) : undefined;
}

interface RecordHeader {
  readonly key: string | null;
  readonly value: Buffer | null;
}

/** Used part of kafkajs' reader of bytes. */
interface RecordDecoder {
  readVarInt(): number;
  readVarIntArray(read: (decoder: RecordDecoder) => RecordHeader): RecordHeader[];
}

/**
 * Reads from now on only the headers of records that have a meaning and a value, the first of each name. kafkajs 2.2.4 copies all
 * headers of a record for each further one.
 */
export function skipHeaders(): void {
  const Decoder = require('kafkajs/src/protocol/decoder.js') as { readonly prototype: RecordDecoder };
  Decoder.prototype.readVarIntArray = function readKnownHeaders(this: RecordDecoder, read) {
    const known = new Map<string, RecordHeader>();
    for (let left = this.readVarInt(); left > 0; left -= 1) {
      const { key, value } = read(this);
      if (key !== null && value !== null && KNOWN_HEADERS.has(key) && !known.has(key)) {
        known.set(key, { key, value });
      }
    }
    return [...known.values()];
  };
}

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
  CompressionCodecs[CompressionTypes.GZIP] = () => createBoundedCodec(GZIP, maxBytes);
  CompressionCodecs[CompressionTypes.ZSTD] = () => createBoundedCodec(ZSTD, maxBytes);
  CompressionCodecs[CompressionTypes.LZ4] = () => createBoundedCodec(LZ4, maxBytes);
  CompressionCodecs[CompressionTypes.Snappy] = () => createBoundedCodec(SNAPPY, maxBytes);
}

/** Creates a codec in the client's shape. */
function createBoundedCodec({ compress, decompress }: Codec, maxBytes: number) {
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
