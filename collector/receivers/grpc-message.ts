import { AppError, InvalidInputError } from '../../src/domain/errors.ts';
import { bodyTooLarge } from './request-body.ts';

/** Bytes before a message: one byte that says whether it is compressed, and four bytes of length. */
export const GRPC_PREFIX_BYTES = 5;

/** The one message of a unary call: its bytes, and whether they are compressed. */
export interface GrpcMessage {
  readonly compressed: boolean;
  readonly bytes: Buffer;
}

/**
 * Reads the body of a unary call. Throws an `InvalidInputError`, or an `input_too_large` error for a message above
 * `maxBytes`.
 */
export function readGrpcMessage(body: Buffer, maxBytes: number): GrpcMessage {
  if (body.length < GRPC_PREFIX_BYTES) {
    throw new InvalidInputError('the call holds no message');
  }
  const flag = body.readUInt8(0);
  const size = body.readUInt32BE(1);
  if (size > maxBytes) {
    throw bodyTooLarge(maxBytes, 'the message');
  }
  if (flag > 1) {
    throw new InvalidInputError(`the message begins with ${flag} instead of 0 (plain) or 1 (compressed)`);
  }
  const bytes = body.subarray(GRPC_PREFIX_BYTES);
  if (bytes.length !== size) {
    throw new InvalidInputError(
      `the message has ${bytes.length} bytes, but its length field says ${size}: a call must have exactly one message`,
    );
  }
  return { compressed: flag === 1, bytes };
}

/** Frames an uncompressed reply. */
export function writeGrpcMessage(message: Uint8Array): Buffer {
  const framed = Buffer.alloc(GRPC_PREFIX_BYTES + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, GRPC_PREFIX_BYTES);
  return framed;
}

const MS_OF_UNIT = new Map([
  ['H', 3_600_000],
  ['M', 60_000],
  ['S', 1_000],
  ['m', 1],
  ['u', 1e-3],
  ['n', 1e-6],
]);

/** Parses a `grpc-timeout` header like `4999905u` to milliseconds. Returns undefined without a header. */
export function grpcTimeoutMs(header: string | undefined): number | undefined {
  if (header === undefined) {
    return undefined;
  }
  const [, digits, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(header) ?? [];
  const unitMs = MS_OF_UNIT.get(unit);
  if (digits === undefined || unitMs === undefined) {
    throw new InvalidInputError(`grpc-timeout ${header.slice(0, 40)} is no timeout`);
  }
  return Number(digits) * unitMs;
}

/** Creates the error for a sender whose deadline has passed, or whose body took too long. */
export function deadlineExceeded(message: string): AppError {
  return new AppError(message, { code: 'cancelled', stage: 'receive', retryable: true });
}
