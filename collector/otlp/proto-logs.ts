import { lowerValue } from '../../src/wire/any-value.ts';
import type { LogRecord } from '../../src/domain/trace/span.ts';
import { readAttributes } from './proto-attributes.ts';
import {
  hasId,
  FIXED64,
  LENGTH,
  type ProtoReader,
  VARINT,
  addRange,
  createRangeList,
  type ByteRange,
} from './proto-reader.ts';
import { readAnyValue, readText } from './proto-values.ts';
import type { RecordScope, RecordVisitor } from './proto-walk.ts';

/**
 * Reads the log records of a protobuf request and passes each to `take`. It creates an object for each record, because logs
 * are few.
 */
export function logVisitor(reader: ProtoReader, take: (log: LogRecord) => void): RecordVisitor {
  let scope: RecordScope = {
    serviceName: '',
    resourceAttributes: new Map(),
    scopeName: '',
    scopeVersion: '',
  };
  return {
    names: ['resourceLogs', 'scopeLogs', 'logRecords'],
    enterScope(entered) {
      scope = entered;
    },
    record(start, end) {
      take(readLog(reader, start, end, scope));
    },
  };
}

/** Field numbers of `LogRecord`. */
const TIME = 1;
const SEVERITY_NUMBER = 2;
const SEVERITY_TEXT = 3;
const BODY = 5;
const ATTRIBUTES = 6;
const TRACE_ID = 9;
const SPAN_ID = 10;
const OBSERVED_TIME = 11;
const EVENT_NAME = 12;
const EMPTY: ByteRange = [0, 0];

function readLog(reader: ProtoReader, start: number, end: number, scope: RecordScope): LogRecord {
  const ranges = new Map<number, ByteRange>();
  const times = new Map<number, bigint>();
  const attributeRanges = createRangeList();
  let severityNumber = 0;
  reader.position = start;
  while (reader.readTag(end)) {
    const { field, wire } = reader;
    if (wire === LENGTH) {
      reader.readRange(end);
      if (field === ATTRIBUTES) {
        addRange(attributeRanges, reader.start, reader.end);
      } else {
        ranges.set(field, [reader.start, reader.end]);
      }
    } else if (wire === FIXED64) {
      reader.readFixed64(end);
      times.set(field, reader.unsigned());
    } else if (wire === VARINT && field === SEVERITY_NUMBER) {
      reader.readVarint(end);
      severityNumber = reader.high === 0 ? reader.low % 256 : 0;
    } else {
      reader.skip(end);
    }
  }
  const text = (field: number): string => readText(reader, ...(ranges.get(field) ?? EMPTY));
  const attributes = readAttributes(reader, attributeRanges);
  return {
    ...scope,
    timeUnixNano: times.get(TIME) || (times.get(OBSERVED_TIME) ?? 0n),
    traceId: readId(reader, ranges.get(TRACE_ID), 16, 'traceId'),
    spanId: readId(reader, ranges.get(SPAN_ID), 8, 'spanId'),
    severityText: text(SEVERITY_TEXT),
    severityNumber,
    body: lowerValue(readAnyValue(reader, ...(ranges.get(BODY) ?? EMPTY))),
    attributes,
    eventName: text(EVENT_NAME) || (attributes.get('event.name') ?? ''),
  };
}

/** Returns an id in lower-case hex, '' for an absent or all-zero id. */
function readId(reader: ProtoReader, range: ByteRange | undefined, size: number, name: string): string {
  const [start, end] = range ?? EMPTY;
  return hasId(reader.bytes, start, end, size, name) ? reader.bytes.toString('hex', start, end) : '';
}
