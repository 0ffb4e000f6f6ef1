import type { Readable } from 'node:stream';
import { AppError, InvalidInputError } from '../../src/domain/errors.ts';
import type { MemoryLease } from '../memory-limiter.ts';

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
