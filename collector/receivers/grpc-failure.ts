import { AppError, type ErrorCode } from '../../src/domain/errors.ts';
import { encodeRetryStatus, STATUS_CODES } from '../otlp/reply.ts';

/** Error of a call that gRPC itself refuses: unknown method, encoding, credentials. */
export class GrpcRefusal extends AppError {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message, { code: 'input_invalid', stage: 'receive', retryable: false });
    this.status = status;
  }
}

/** Failure of a gRPC call. */
export interface GrpcFailure {
  readonly status: number;
  readonly trailers: Readonly<Record<string, string>>;
}

const STATUS_OF_ERROR = new Map<ErrorCode, number>([
  ['input_invalid', STATUS_CODES.invalidArgument],
  ['store_rejected', STATUS_CODES.invalidArgument],
  ['input_too_large', STATUS_CODES.resourceExhausted],
  ['overloaded', STATUS_CODES.resourceExhausted],
  ['cancelled', STATUS_CODES.deadlineExceeded],
]);

/** Longest `grpc-message`, in characters, because it travels in HTTP/2 headers. */
const MAX_MESSAGE = 1_000;

/**
 * Converts an error to a gRPC status. A sender retries RESOURCE_EXHAUSTED only with a `RetryInfo`: an overload has one, a
 * too large message has none.
 */
export function toGrpcFailure(error: unknown, defaultRetryAfterMs: number): GrpcFailure {
  if (!(error instanceof AppError)) {
    return failure(STATUS_CODES.internal, 'the collector failed; the reason is in the log of spanscore');
  }
  if (error instanceof GrpcRefusal) {
    return failure(error.status, error.message);
  }
  const status =
    STATUS_OF_ERROR.get(error.code) ?? (error.retryable ? STATUS_CODES.unavailable : STATUS_CODES.internal);
  if (!error.retryable || status === STATUS_CODES.deadlineExceeded) {
    return failure(status, error.message);
  }
  const details = encodeRetryStatus(status, error.message, error.retryAfterMs ?? defaultRetryAfterMs);
  return failure(status, error.message, {
    'grpc-status-details-bin': details.toString('base64').replace(/=+$/, ''),
  });
}

function failure(status: number, message: string, more: Readonly<Record<string, string>> = {}): GrpcFailure {
  const text = encodeURIComponent(message.slice(0, MAX_MESSAGE).toWellFormed());
  return { status, trailers: { 'grpc-status': String(status), 'grpc-message': text, ...more } };
}
