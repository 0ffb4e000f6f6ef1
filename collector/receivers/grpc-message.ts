import { AppError, InvalidInputError } from '../../src/domain/errors.ts';
import { bodyTooLarge } from './request-body.ts';

/** A message is led by one byte that tells whether it is compressed and four bytes of length. */
export const GRPC_PREFIX_BYTES = 5;

/** The one message of a unary call: its bytes, and whether they are compressed. */
export interface GrpcMessage {
  readonly compressed: boolean;
  readonly bytes: Buffer;
}

/** Reads the body of a unary call. Throws `InvalidInputError`, or `input_too_large` for a message above `maxBytes`. */
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
    throw new InvalidInputError(
      `the message begins with ${flag} where 0 (plain) or 1 (compressed) must stand`,
    );
  }
  const bytes = body.subarray(GRPC_PREFIX_BYTES);
  if (bytes.length !== size) {
    throw new InvalidInputError(
      `the message is said to have ${size} bytes and ${bytes.length} came: a call must hold exactly one message`,
    );
  }
  return { compressed: flag === 1, bytes };
}

/** Frames a reply, uncompressed. */
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

/** Milliseconds of a `grpc-timeout` header like `4999905u`; undefined when there is none. */
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

/** The sender's deadline is over, or its body took too long. */
export function deadlineExceeded(message: string): AppError {
  return new AppError(message, { code: 'cancelled', stage: 'receive', retryable: true });
}
