import { RowWriter } from '../../src/store/contracts/rows.ts';
import type { Encoding, Signal } from './decode-request.ts';

/** Longest error message of a reply, in characters: a reply stays far below the 4 MiB of OTLP. */
const MAX_MESSAGE = 4_000;
const MAX_SHOWN_REASONS = 5;

/** gRPC status codes, as in `google.rpc.Status`. */
export const STATUS_CODES = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** Names of the records of a signal: in messages, and of their number in a reply in JSON. */
const RECORD_NAMES = {
  traces: ['spans', 'rejectedSpans'],
  logs: ['log records', 'rejectedLogRecords'],
  metrics: ['data points', 'rejectedDataPoints'],
} as const;

/** Content type of a request and of its reply. */
export const CONTENT_TYPES: Record<Encoding, string> = {
  protobuf: 'application/x-protobuf',
  json: 'application/json',
};

/**
 * Encodes an `ExportTraceServiceResponse`, or that of another signal, with a partial success when records were rejected.
 */
export function encodeExportResponse(
  signal: Signal | 'metrics',
  encoding: Encoding,
  result: {
    readonly rejected: number;
    readonly setAside: number;
    readonly purged: number;
    readonly reasons: readonly string[];
  },
): Buffer {
  const leftOut = result.rejected + result.setAside + result.purged;
  if (leftOut === 0 && result.reasons.length === 0) {
    return Buffer.from(encoding === 'json' ? '{}' : '');
  }
  const [records, name] = RECORD_NAMES[signal];
  const shown = result.reasons.slice(0, MAX_SHOWN_REASONS).join('; ');
  const more = result.reasons.length > MAX_SHOWN_REASONS || leftOut > MAX_SHOWN_REASONS ? '; …' : '';
  const message = cutMessage(`${leftOut} ${records} rejected: ${shown}${more}`);
  if (encoding === 'json') {
    const partialSuccess = { [name]: String(leftOut), errorMessage: message };
    return Buffer.from(JSON.stringify({ partialSuccess }));
  }
  return field(0x0a, encodeMessage(leftOut, message));
}

/** Encodes a `google.rpc.Status`, the body of every error reply. */
export function encodeStatus(encoding: Encoding, code: number, message: string): Buffer {
  return encoding === 'json'
    ? Buffer.from(JSON.stringify({ code, message: cutMessage(message) }))
    : encodeMessage(code, cutMessage(message));
}

const RETRY_INFO_TYPE = 'type.googleapis.com/google.rpc.RetryInfo';

/** Encodes a `google.rpc.Status` with a `RetryInfo`, the time to wait before a retry. */
export function encodeRetryStatus(code: number, message: string, retryAfterMs: number): Buffer {
  const duration = new RowWriter(32);
  duration.uint8(0x08);
  duration.varint(Math.floor(retryAfterMs / 1_000));
  duration.uint8(0x10);
  duration.varint(Math.round((retryAfterMs % 1_000) * 1e6));
  const any = new RowWriter(128);
  any.uint8(0x0a);
  any.string(RETRY_INFO_TYPE);
  const retryInfo = field(0x12, field(0x0a, duration.written()));
  any.raw(retryInfo);
  return Buffer.concat([encodeStatus('protobuf', code, message), field(0x1a, any.written())]);
}

/** Encodes a length-delimited field with its tag. */
function field(tag: number, content: Buffer): Buffer {
  const writer = new RowWriter(content.length + 8);
  writer.uint8(tag);
  writer.stringBytes(content, 0, content.length);
  return writer.written();
}

/** Encodes a message with a number in field 1 and a text in field 2, the form of a partial success and of a status. */
function encodeMessage(number: number, text: string): Buffer {
  const writer = new RowWriter(text.length + 16);
  writer.uint8(0x08);
  writer.varint(number);
  writer.uint8(0x12);
  writer.string(text);
  return writer.written();
}

function cutMessage(message: string): string {
  return message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…`.toWellFormed() : message;
}
