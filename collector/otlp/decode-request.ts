import { looksLikeAgent } from '../../src/domain/agent-signals.ts';
import { InvalidInputError } from '../../src/domain/errors.ts';
import { decodeOtlpJson } from '../../src/domain/otlp-json.ts';
import type { LogRecord } from '../../src/domain/span.ts';
import { encodeLog, encodeSpan } from '../../src/store/contracts/row-binary.ts';
import { type DecodedRequest, newRejections, reject, type Rejections } from './decoded-request.ts';
import { logVisitor } from './proto-logs.ts';
import { ProtoReader } from './proto-reader.ts';
import { spanVisitor } from './proto-spans.ts';
import { walkExport } from './proto-walk.ts';
import { collectRows, type RowPieces } from './row-pieces.ts';

export type Signal = 'traces' | 'logs';
export type Encoding = 'protobuf' | 'json';

/** Rows repeat the resource: a little more room than the request itself. */
const GROWTH = 1.25;

/**
 * Decodes one export request into rows. The same request as protobuf and as JSON gives the same bytes. A malformed record
 * is counted in `rejected`, the rest go on; a body that cannot be read at all throws `InvalidInputError`.
 */
export function decodeRequest(
  signal: Signal,
  encoding: Encoding,
  body: Uint8Array,
  tenant: string,
): DecodedRequest {
  const rows = collectRows(Math.ceil(body.length * GROWTH) + 256);
  const rejections = newRejections();
  const dropped =
    encoding === 'protobuf'
      ? decodeProtobuf(signal, body, tenant, rows, rejections)
      : decodeJson(signal, body, tenant, rows, rejections);
  return {
    table: signal === 'traces' ? 'otel_traces' : 'otel_logs',
    rows: rows.rows,
    pieces: rows.finish(),
    dropped,
    rejected: rejections.count,
    reasons: rejections.reasons,
  };
}

/** Returns how many good records were not kept. */
function decodeProtobuf(
  signal: Signal,
  body: Uint8Array,
  tenant: string,
  rows: RowPieces,
  rejections: Rejections,
): number {
  const reader = new ProtoReader(body);
  if (signal === 'traces') {
    walkExport(reader, spanVisitor(reader, rows, tenant), rejections);
    return 0;
  }
  let dropped = 0;
  const visitor = logVisitor(reader, (log) => {
    dropped += keepLog(rows, log, tenant) ? 0 : 1;
  });
  walkExport(reader, visitor, rejections);
  return dropped;
}

function decodeJson(
  signal: Signal,
  body: Uint8Array,
  tenant: string,
  rows: RowPieces,
  rejections: Rejections,
): number {
  const decoded = decodeOtlpJson(parseJson(body));
  const counted = signal === 'traces' ? decoded.rejected.spans : decoded.rejected.logs;
  rejections.count += counted;
  rejections.reasons.push(...decoded.rejected.reasons);
  if (signal === 'traces') {
    decoded.spans.forEach((span, index) => {
      endRow(rows, rejections, `span ${index}`, () => encodeSpan(rows.writer, span, tenant));
    });
    return 0;
  }
  let dropped = 0;
  decoded.logs.forEach((log, index) => {
    if (isKept(log)) {
      endRow(rows, rejections, `log record ${index}`, () => encodeLog(rows.writer, log, tenant));
    } else {
      dropped++;
    }
  });
  return dropped;
}

/** Completes a row; one that is too large is left out and counted. */
function endRow(rows: RowPieces, rejections: Rejections, where: string, write: () => void): void {
  write();
  try {
    rows.endRow();
  } catch (error) {
    if (!(error instanceof InvalidInputError)) {
      throw error;
    }
    reject(rejections, 1, `${where}: ${error.message}`);
  }
}

function keepLog(rows: RowPieces, log: LogRecord, tenant: string): boolean {
  if (!isKept(log)) {
    return false;
  }
  encodeLog(rows.writer, log, tenant);
  rows.endRow();
  return true;
}

/** Only what belongs to an agent's trace is worth a row; other logs are none of our business. */
function isKept(log: LogRecord): boolean {
  return (
    log.traceId !== '' &&
    looksLikeAgent({
      scopeName: log.scopeName,
      attributeKeys: log.attributes.keys(),
      eventNames: [log.eventName],
    })
  );
}

function parseJson(body: Uint8Array): object {
  let request: unknown;
  try {
    request = JSON.parse(new TextDecoder().decode(body));
  } catch (cause) {
    throw new InvalidInputError('the body is not JSON', { bytes: body.length }, cause);
  }
  if (typeof request !== 'object' || request === null || Array.isArray(request)) {
    throw new InvalidInputError('the body must be one OTLP export request, a JSON object');
  }
  return request;
}
