import { AppError, type ErrorCode } from '../../src/domain/errors.ts';
import { STATUS_CODES } from '../otlp/reply.ts';

/** Error of a request that HTTP itself refuses: wrong path, method, content type, credentials. */
export class HttpRefusal extends AppError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message, { code: 'input_invalid', stage: 'receive', retryable: false });
    this.status = status;
    this.headers = headers;
  }
}

/** Failure of an OTLP/HTTP request. A sender retries only 429 and 503. */
interface HttpFailure {
  readonly status: number;
  /** Code of `google.rpc.Status`. */
  readonly code: number;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

const CODE_OF_STATUS: Readonly<Record<number, number>> = {
  400: STATUS_CODES.invalidArgument,
  401: STATUS_CODES.unauthenticated,
  403: STATUS_CODES.permissionDenied,
  404: STATUS_CODES.notFound,
  405: STATUS_CODES.unimplemented,
  413: STATUS_CODES.invalidArgument,
  415: STATUS_CODES.invalidArgument,
  429: STATUS_CODES.resourceExhausted,
  500: STATUS_CODES.internal,
  503: STATUS_CODES.unavailable,
};

/** Converts an error to an OTLP/HTTP reply. */
export function toHttpFailure(error: unknown, defaultRetryAfterMs: number): HttpFailure {
  if (error instanceof HttpRefusal) {
    return failure(error.status, error.message, error.headers);
  }
  if (!(error instanceof AppError)) {
    return failure(500, 'the collector failed; the reason is in the log of spanscore');
  }
  const status = chooseStatus(error);
  if (status !== 429 && status !== 503) {
    return failure(status, error.message);
  }
  const seconds = Math.max(1, Math.ceil((error.retryAfterMs ?? defaultRetryAfterMs) / 1_000));
  return failure(status, error.message, { 'Retry-After': String(seconds) });
}

const STATUS_OF_ERROR = new Map<ErrorCode, number>([
  ['input_invalid', 400],
  ['store_rejected', 400],
  ['input_too_large', 413],
  ['overloaded', 429],
]);

function chooseStatus(error: AppError): number {
  return STATUS_OF_ERROR.get(error.code) ?? (error.retryable ? 503 : 500);
}

function failure(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): HttpFailure {
  return { status, code: CODE_OF_STATUS[status] ?? STATUS_CODES.internal, message, headers };
}
