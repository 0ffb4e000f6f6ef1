import type { Readable, Transform } from 'node:stream';
import { AppError, InvalidInputError, readErrorMessage } from '../../src/domain/errors.ts';
import type { MemoryLease } from '../memory-limiter.ts';
import { promisify } from 'node:util';
import {
  createGunzip,
  createInflate,
  createZstdDecompress,
  gunzip,
  inflate,
  zstdDecompress,
  type ZlibOptions,
} from 'node:zlib';
import { HttpRefusal } from './http-refusal.ts';

/**
 * Reads a body as sent. The lease holds its bytes while they arrive, so that many slow senders together stay within the
 * limit. Refuses a body at once that announces (0: nothing) or has more than `maxBytes`.
 */
export async function readBody(
  request: Readable,
  announced: number,
  lease: MemoryLease,
  maxBytes: number,
): Promise<Buffer> {
  if (announced > maxBytes) {
    throw bodyTooLarge(maxBytes, 'the body');
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const stop = (error: AppError): void => {
      request.off('data', take).off('end', finish).off('close', cutOff);
      chunks.length = 0;
      request.resume();
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      try {
        if (size > maxBytes) {
          throw bodyTooLarge(maxBytes, 'the body');
        }
        lease.hold(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        stop(error as AppError);
      }
    };
    const finish = (): void => {
      request.off('close', cutOff);
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size));
      // The request lives longer than its body, and these listeners live as long as the request.
      chunks.length = 0;
    };
    const cutOff = (): void =>
      stop(new InvalidInputError('the sender closed the connection before the end of the body'));
    request.on('data', take).on('end', finish).on('close', cutOff).on('error', cutOff);
  });
}

export function bodyTooLarge(maxBytes: number, what: string): AppError {
  return new AppError(`${what} has more than ${maxBytes} bytes; send fewer spans per request`, {
    code: 'input_too_large',
    stage: 'receive',
    retryable: false,
  });
}

type Options = Pick<ZlibOptions, 'chunkSize' | 'maxOutputLength'>;

/** Decoder of one encoding. Both functions work on the thread pool, so that the event loop stays free. */
interface Decoder {
  /** Fast; needs twice the memory of the content while it joins the pieces. */
  whole(body: Buffer, options: Options): Promise<Buffer>;
  stream(options: Options): Transform;
}

const DECODERS = new Map<string, Decoder>([
  ['gzip', { whole: promisify<Buffer, ZlibOptions, Buffer>(gunzip), stream: createGunzip }],
  ['deflate', { whole: promisify<Buffer, ZlibOptions, Buffer>(inflate), stream: createInflate }],
  [
    'zstd',
    {
      whole: (body, options) => promisify(zstdDecompress)(body, options),
      stream: createZstdDecompress,
    },
  ],
]);

/** Supported encodings, besides none. */
export const CONTENT_ENCODINGS: readonly string[] = [...DECODERS.keys()];

/** First guess of the ratio of content to compressed bytes, for formats that do not state it. */
const USUAL_RATIO = 8;
const MIN_GUESS_BYTES = 64 * 1024;
const MAX_CHUNK_BYTES = 1024 * 1024;
/** Content up to this size is unpacked whole; larger content goes piece by piece into one buffer. */
const WHOLE_BYTES = 4 * 1024 * 1024;
const PIECE_BYTES = 256 * 1024;

/**
 * Returns the lower-case name of a supported content encoding, '' for none. Throws a 415 refusal for any other encoding.
 */
export function readContentEncoding(header: string | undefined): string {
  const name = (header ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') {
    return '';
  }
  if (!DECODERS.has(name)) {
    throw new HttpRefusal(415, `Content-Encoding ${name} is not supported; use gzip, deflate, zstd or none`, {
      'Accept-Encoding': CONTENT_ENCODINGS.join(', '),
    });
  }
  return name;
}

/**
 * Decompresses a body. The lease holds the memory before it is used: first the size that the content claims or usually
 * needs, then, only when this is too little, the allowed maximum. So a decompression bomb takes no more memory than a
 * normal body, and many bombs together stay within the limit. Frees the compressed bytes.
 */
export async function decompress(
  body: Buffer,
  encoding: string,
  lease: MemoryLease,
  maxBytes: number,
): Promise<Buffer> {
  const decoder = DECODERS.get(encoding);
  if (decoder === undefined || body.length === 0) {
    return body;
  }
  const guess = Math.min(maxBytes, Math.max(MIN_GUESS_BYTES, claimedSize(body, encoding)));
  const content =
    (await attempt(decoder, body, lease, guess)) ??
    (guess < maxBytes ? await attempt(decoder, body, lease, maxBytes) : undefined);
  if (content === undefined) {
    throw bodyTooLarge(maxBytes, 'the decompressed body');
  }
  lease.free(body.length);
  return content;
}

/** Returns undefined when the content has more than `maxBytes`. */
async function attempt(
  decoder: Decoder,
  body: Buffer,
  lease: MemoryLease,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const isSmall = maxBytes <= WHOLE_BYTES;
  const neededBytes = isSmall ? maxBytes * 2 : maxBytes;
  lease.hold(neededBytes);
  try {
    const content = await (isSmall ? unpackWhole : unpackInto)(decoder, body, maxBytes);
    lease.free(neededBytes - (content?.length ?? 0));
    return content;
  } catch (error) {
    lease.free(neededBytes);
    throw new InvalidInputError(`the body cannot be decompressed: ${readErrorMessage(error)}`, {}, error);
  }
}

async function unpackWhole(decoder: Decoder, body: Buffer, maxBytes: number): Promise<Buffer | undefined> {
  try {
    const chunkSize = Math.min(maxBytes + 64, MAX_CHUNK_BYTES);
    return await decoder.whole(body, { maxOutputLength: maxBytes, chunkSize });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      return undefined;
    }
    throw error;
  }
}

async function unpackInto(decoder: Decoder, body: Buffer, maxBytes: number): Promise<Buffer | undefined> {
  const content = Buffer.allocUnsafeSlow(maxBytes);
  const pieces = decoder.stream({ chunkSize: PIECE_BYTES });
  let size = 0;
  pieces.end(body);
  for await (const piece of pieces as AsyncIterable<Buffer>) {
    if (size + piece.length > maxBytes) {
      return undefined;
    }
    size += piece.copy(content, size);
  }
  return size * 2 < maxBytes ? Buffer.from(content.subarray(0, size)) : content.subarray(0, size);
}

/**
 * Returns the size stated at the end of gzip (modulo 2^32), or a guess for other formats. A wrong size only costs a second
 * attempt.
 */
function claimedSize(body: Buffer, encoding: string): number {
  return encoding === 'gzip' && body.length >= 18
    ? body.readUInt32LE(body.length - 4)
    : body.length * USUAL_RATIO;
}
