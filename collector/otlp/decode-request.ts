import { InvalidInputError } from '../../src/domain/errors.ts';
import { buildStub, hasUsefulContent, isUsefulLog } from '../../src/conventions/kept-content.ts';
import { decodeOtlpJson } from '../../src/wire/otlp-json.ts';
import type { LogRecord, Span } from '../../src/domain/trace/span.ts';
import { encodeLog, encodeSpan } from '../../src/store/contracts/rows.ts';
import { Cuts, cutLog, cutSpan } from './cuts.ts';
import {
  type DecodedRequest,
  createRejections,
  reject,
  type Rejections,
  tooManyRecords,
  requireStorableTime,
  collectRows,
  type RowPieces,
} from './row-pieces.ts';
import { parseJson } from './json-body.ts';
import { logVisitor } from './proto-logs.ts';
import { ProtoReader } from './proto-reader.ts';
import { spanVisitor } from './proto-spans.ts';
import { walkExport } from './proto-walk.ts';
import { DEFAULT_DECODE, type DecodeOptions } from '../limits.ts';

/** Lists of an OTLP/JSON request, from groups to records, each in its two spellings. */
const LISTS = [
  ['resourceSpans', 'resource_spans', 'resourceLogs', 'resource_logs'],
  ['scopeSpans', 'scope_spans', 'scopeLogs', 'scope_logs'],
  ['spans', 'logRecords', 'log_records'],
] as const;

export type Signal = 'traces' | 'logs';
export type Encoding = 'protobuf' | 'json';

/** Estimated bytes of rows for each byte of a request: rows repeat the resource. */
const GROWTH = 1.25;

/**
 * Decodes one export request into rows. The same request gives the same bytes from protobuf and from JSON. A malformed
 * record is counted in `rejected`, and the other records are decoded; a body that cannot be read throws an
 * `InvalidInputError`.
 */
export function decodeRequest(
  signal: Signal,
  encoding: Encoding,
  body: Uint8Array,
  tenant: string,
  options: DecodeOptions = DEFAULT_DECODE,
): DecodedRequest {
  const rows = collectRows(Math.ceil(body.length * GROWTH) + 256, options.limits.maxRowBytes);
  const request: Request = { body, tenant, options, rows, rejections: createRejections() };
  const left = (encoding === 'protobuf' ? decodeProtobuf : decodeJson)(signal, request);
  return {
    table: signal === 'traces' ? 'otel_traces' : 'otel_logs',
    rows: rows.rows,
    pieces: rows.finish(),
    ...left,
    rejected: request.rejections.count,
    reasons: request.rejections.reasons,
  };
}

/** Request, with the rows and rejections that it becomes. */
interface Request {
  readonly body: Uint8Array;
  readonly tenant: string;
  readonly options: DecodeOptions;
  readonly rows: RowPieces;
  readonly rejections: Rejections;
}

/** Valid records that were not stored, or not stored whole. */
type Left = Pick<DecodedRequest, 'dropped' | 'stubs'>;

function decodeProtobuf(signal: Signal, request: Request): Left {
  const { body, rows, tenant, options, rejections } = request;
  const reader = new ProtoReader(body);
  if (signal === 'traces') {
    const visitor = spanVisitor(reader, rows, tenant, options);
    walkExport(reader, visitor, rejections, options.limits);
    return { dropped: 0, stubs: visitor.stubs };
  }
  const keepLog = logKeeper(request);
  let dropped = 0;
  const visitor = logVisitor(reader, (log) => {
    dropped += keepLog(log) ? 0 : 1;
  });
  walkExport(reader, visitor, rejections, options.limits);
  return { dropped, stubs: 0 };
}

function decodeJson(signal: Signal, request: Request): Left {
  const { rejections, options } = request;
  const parsed = parseJson(request.body);
  if (countRecords(parsed, options.limits.maxRecords) > options.limits.maxRecords) {
    throw tooManyRecords(options.limits.maxRecords);
  }
  const decoded = decodeOtlpJson(parsed);
  rejections.count += signal === 'traces' ? decoded.rejected.spans : decoded.rejected.logs;
  rejections.reasons.push(...decoded.rejected.reasons);
  if (signal === 'traces') {
    return { dropped: 0, stubs: writeSpans(decoded.spans, request) };
  }
  const keepLog = logKeeper(request);
  let dropped = 0;
  decoded.logs.forEach((log, index) => {
    orReject(rejections, `log record ${index}`, () => {
      dropped += keepLog(log) ? 0 : 1;
    });
  });
  return { dropped, stubs: 0 };
}

/** Returns the number of spans of which only the position in the tree was kept. */
function writeSpans(spans: readonly Span[], { rows, tenant, options, rejections }: Request): number {
  const cuts = new Cuts(options.limits);
  let stubs = 0;
  spans.forEach((span, index) => {
    const isStub = options.keep === 'agent-spans' && !hasUsefulContent(span, options.signals);
    const kept = isStub ? buildStub(span) : span;
    cuts.begin();
    kept.truncated?.forEach((name) => cuts.note(name));
    const cut = cutSpan(cuts, kept);
    orReject(rejections, `span ${index}`, () => {
      requireStorableTime(span.startUnixNano, 'startTimeUnixNano');
      requireStorableTime(span.startUnixNano + span.durationNano, 'endTimeUnixNano');
      encodeSpan(rows.writer, cut, tenant, cuts.names());
      rows.endRow(cuts.bytes);
      stubs += isStub ? 1 : 0;
    });
  });
  return stubs;
}

/** Counts a too large record as rejected. */
function orReject(rejections: Rejections, where: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    if (!(error instanceof InvalidInputError)) {
      throw error;
    }
    reject(rejections, 1, () => `${where}: ${error.message}`);
  }
}

/** Returns a writer of log records. It returns false for a log record that spanscore does not store. */
function logKeeper({ rows, tenant, options }: Request): (log: LogRecord) => boolean {
  const cuts = new Cuts(options.limits);
  return (log) => {
    if (log.traceId === '' || !isUsefulLog(log, options.signals)) {
      return false;
    }
    requireStorableTime(log.timeUnixNano, 'timeUnixNano');
    cuts.begin();
    const cut = cutLog(cuts, log);
    encodeLog(rows.writer, cut, tenant, cuts.names());
    rows.endRow(cuts.bytes);
    return true;
  };
}

/** Counts the groups, scopes and records of a parsed request. Stops above `most`. Never throws. */
function countRecords(request: unknown, most: number): number {
  let level: readonly unknown[] = [request];
  let count = 0;
  for (const names of LISTS) {
    const next: unknown[] = [];
    for (const item of level) {
      for (const list of listNested(item, names)) {
        count += list.length;
        if (count > most) {
          return count;
        }
        next.push(...list);
      }
    }
    level = next;
  }
  return count;
}

function listNested(item: unknown, names: readonly string[]): (readonly unknown[])[] {
  if (typeof item !== 'object' || item === null) {
    return [];
  }
  const fields = item as Record<string, unknown>;
  return names.flatMap((name) => (Array.isArray(fields[name]) ? [fields[name] as readonly unknown[]] : []));
}
