import type { SpanKind, StatusCode } from '../../src/domain/span.ts';
import { encodeTruncated, RowWriter } from '../../src/store/contracts/row-binary.ts';
import { writeAttributes, writeText } from './proto-attributes.ts';
import { hasId, requireId, writeHexId } from './proto-ids.ts';
import type { ProtoReader } from './proto-reader.ts';
import { newPartScan, newSpanScan, scanPart, scanSpan, SPAN_TEXT } from './proto-span-scan.ts';
import type { RecordScope, RecordVisitor } from './proto-walk.ts';
import type { RangeList } from './range-list.ts';
import type { RowPieces } from './row-pieces.ts';

const KINDS: readonly SpanKind[] = ['Unspecified', 'Internal', 'Server', 'Client', 'Producer', 'Consumer'];
const STATUSES: readonly StatusCode[] = ['Unset', 'Ok', 'Error'];
const KIND_BYTES = KINDS.map(encoded);
const STATUS_BYTES = STATUSES.map(encoded);

const EVENT_ATTRIBUTES = 3;
const LINK_ATTRIBUTES = 4;
const INT64_HIGH = 0x7fff_ffff;

const span = newSpanScan();
const part = newPartScan();

/** Writes the spans of a protobuf request as rows of `otel_traces`, straight from bytes to bytes. */
export function spanVisitor(reader: ProtoReader, rows: RowPieces, tenant: string): RecordVisitor {
  const tenantBytes = encoded(tenant);
  let resource: RecordScope['resourceAttributes'] | undefined;
  let resourceBytes: Uint8Array = new Uint8Array(0);
  let scopeBytes: Uint8Array = new Uint8Array(0);
  return {
    names: ['resourceSpans', 'scopeSpans', 'spans'],
    enterScope(scope) {
      if (scope.resourceAttributes !== resource) {
        resource = scope.resourceAttributes;
        resourceBytes = encodeResource(scope);
      }
      scopeBytes = encodeScope(scope);
    },
    record(start, end) {
      try {
        scanSpan(reader, start, end, span);
        writeSpan(reader, rows.writer, { resourceBytes, scopeBytes, tenantBytes });
      } catch (error) {
        rows.abandonRow();
        throw error;
      }
      rows.endRow();
    },
  };
}

/** Columns that many spans share, encoded once. */
interface SharedColumns {
  /** ServiceName, ResourceAttributes. */
  readonly resourceBytes: Uint8Array;
  /** ScopeName, ScopeVersion. */
  readonly scopeBytes: Uint8Array;
  readonly tenantBytes: Uint8Array;
}

function encodeResource(scope: RecordScope): Uint8Array {
  const writer = new RowWriter(256);
  writer.string(scope.serviceName);
  writer.map(scope.resourceAttributes);
  return writer.written();
}

function encodeScope(scope: RecordScope): Uint8Array {
  const writer = new RowWriter(64);
  writer.string(scope.scopeName);
  writer.string(scope.scopeVersion);
  return writer.written();
}

function writeSpan(reader: ProtoReader, writer: RowWriter, shared: SharedColumns): void {
  const { bytes } = reader;
  const { text } = span;
  const startFits = writeTime(writer, span.startLow, span.startHigh);
  writeId(bytes, writer, text, SPAN_TEXT.traceId, 16, 'traceId');
  writeId(bytes, writer, text, SPAN_TEXT.spanId, 8, 'spanId');
  const parentStart = text[SPAN_TEXT.parentSpanId * 2] as number;
  const parentEnd = text[SPAN_TEXT.parentSpanId * 2 + 1] as number;
  if (hasId(bytes, parentStart, parentEnd, 8, 'parentSpanId')) {
    writeHexId(bytes, writer, parentStart, parentEnd);
  } else {
    writer.uint8(0);
  }
  writeField(bytes, writer, text, SPAN_TEXT.traceState);
  writeField(bytes, writer, text, SPAN_TEXT.name);
  writer.raw((KIND_BYTES[span.kind] ?? KIND_BYTES[0]) as Uint8Array);
  writer.raw(shared.resourceBytes);
  writer.raw(shared.scopeBytes);
  writeAttributes(reader, writer, span.attributes);
  writeDuration(writer);
  writer.raw((STATUS_BYTES[span.statusCode] ?? STATUS_BYTES[0]) as Uint8Array);
  writeText(bytes, writer, span.statusStart, span.statusEnd);
  const eventsFit = writeEvents(reader, writer, span.events);
  writeLinks(reader, writer, span.links);
  writer.raw(shared.tenantBytes);
  writer.uint32(span.droppedAttributes);
  encodeTruncated(writer, [], startFits, eventsFit);
}

/** Writes a time as Int64; false when it had to be clamped. */
function writeTime(writer: RowWriter, low: number, high: number): boolean {
  const fits = high <= INT64_HIGH;
  writer.uint32(fits ? low : 0xffff_ffff);
  writer.uint32(fits ? high : INT64_HIGH);
  return fits;
}

/** End minus start, 0 when the span ends before it starts. */
function writeDuration(writer: RowWriter): void {
  const { startLow, startHigh, endLow, endHigh } = span;
  const ended = endHigh > startHigh || (endHigh === startHigh && endLow > startLow);
  const borrow = endLow < startLow ? 1 : 0;
  writer.uint32(ended ? endLow - startLow : 0);
  writer.uint32(ended ? endHigh - startHigh - borrow : 0);
}

function writeEvents(reader: ProtoReader, writer: RowWriter, events: RangeList): boolean {
  let fits = true;
  writer.varint(events.count);
  eachPart(reader, events, EVENT_ATTRIBUTES, () => {
    fits = writeTime(writer, part.timeLow, part.timeHigh) && fits;
  });
  writer.varint(events.count);
  eachPart(reader, events, EVENT_ATTRIBUTES, () => writeField(reader.bytes, writer, part.text, 2));
  writer.varint(events.count);
  eachPart(reader, events, EVENT_ATTRIBUTES, () => writeAttributes(reader, writer, part.attributes));
  return fits;
}

function writeLinks(reader: ProtoReader, writer: RowWriter, links: RangeList): void {
  const { bytes } = reader;
  writer.varint(links.count);
  eachPart(reader, links, LINK_ATTRIBUTES, () => writeId(bytes, writer, part.text, 1, 16, 'link traceId'));
  writer.varint(links.count);
  eachPart(reader, links, LINK_ATTRIBUTES, () => writeId(bytes, writer, part.text, 2, 8, 'link spanId'));
  writer.varint(links.count);
  eachPart(reader, links, LINK_ATTRIBUTES, () => writeField(bytes, writer, part.text, 3));
  writer.varint(links.count);
  eachPart(reader, links, LINK_ATTRIBUTES, () => writeAttributes(reader, writer, part.attributes));
}

/** Scans each event or link again for each column: columns are written one after the other. */
function eachPart(reader: ProtoReader, list: RangeList, attributesField: number, write: () => void): void {
  for (let i = 0; i < list.count; i++) {
    scanPart(reader, list.at[i * 2] as number, list.at[i * 2 + 1] as number, attributesField, part);
    write();
  }
}

function writeId(
  bytes: Buffer,
  writer: RowWriter,
  text: Float64Array,
  field: number,
  size: number,
  name: string,
): void {
  const start = text[field * 2] as number;
  const end = text[field * 2 + 1] as number;
  requireId(bytes, start, end, size, name);
  writeHexId(bytes, writer, start, end);
}

function writeField(bytes: Buffer, writer: RowWriter, text: Float64Array, field: number): void {
  writeText(bytes, writer, text[field * 2] as number, text[field * 2 + 1] as number);
}

function encoded(text: string): Uint8Array {
  const writer = new RowWriter(text.length + 2);
  writer.string(text);
  return writer.written();
}
