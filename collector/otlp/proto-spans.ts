import { encodeTruncated, RowWriter } from '../../src/store/contracts/rows.ts';
import { Cuts } from './cuts.ts';
import { writeAttributes, writeCutText } from './proto-attributes.ts';
import { hasId, requireId, writeHexId, type ProtoReader, type RangeList } from './proto-reader.ts';
import {
  createPartScan,
  createSpanScan,
  scanPart,
  scanSpan,
  SPAN_TEXT,
  type SpanScan,
} from './proto-span-scan.ts';
import { requireStorableHigh, type RowPieces } from './row-pieces.ts';
import type { RecordScope, RecordVisitor } from './proto-walk.ts';
import type { DecodeOptions } from '../limits.ts';
import { SPAN_KINDS, STATUS_CODES } from '../../src/domain/trace/span.ts';
import { AGENT_SIGNALS } from '../../src/conventions/agent-signals.ts';
import { type AgentSignals, looksLikeAgent } from '../../src/domain/trace/agent-signals.ts';
import { isKeptEvent, isKeptKey, STUB_MARK } from '../../src/conventions/kept-content.ts';
import { createKeyValueScan, readText, scanKeyValue } from './proto-values.ts';

const KIND_BYTES = SPAN_KINDS.map(encoded);
const STATUS_BYTES = STATUS_CODES.map(encoded);

const EVENT_ATTRIBUTES = 3;
const LINK_ATTRIBUTES = 4;
const INT64_HIGH = 0x7fff_ffff;

const span = createSpanScan();
const part = createPartScan();

/** Visitor of the spans of one request, with the number of stubs. */
interface SpanVisitor extends RecordVisitor {
  readonly stubs: number;
}

/** Writes the spans of a protobuf request as rows of `otel_traces`, directly from bytes to bytes. */
export function spanVisitor(
  reader: ProtoReader,
  rows: RowPieces,
  tenant: string,
  { limits, keep, signals }: DecodeOptions,
): SpanVisitor {
  const tenantBytes = encoded(tenant);
  const cuts = new Cuts(limits);
  const resourceCuts = new Cuts(limits);
  const scopeCuts = new Cuts(limits);
  let scope: RecordScope | undefined;
  let resourceBytes: Uint8Array = new Uint8Array(0);
  let scopeBytes: Uint8Array = new Uint8Array(0);
  let stubs = 0;
  return {
    names: ['resourceSpans', 'scopeSpans', 'spans'],
    get stubs() {
      return stubs;
    },
    enterScope(entered) {
      if (entered.resourceAttributes !== scope?.resourceAttributes) {
        resourceBytes = encodeResource(entered, resourceCuts);
      }
      scope = entered;
      scopeBytes = encodeScope(entered, scopeCuts, resourceCuts);
    },
    record(start, end) {
      cuts.begin(scopeCuts);
      let isStub = false;
      try {
        scanSpan(reader, start, end, span);
        isStub =
          keep === 'agent-spans' &&
          !isUsefulSpan(reader, { scopeName: scope?.scopeName ?? '', span, signals });
        if (isStub) {
          keepPlaceOnly(reader, span, cuts);
        }
        writeSpan(reader, rows.writer, { resourceBytes, scopeBytes, tenantBytes, cuts });
      } catch (error) {
        rows.abandonRow();
        throw error;
      }
      rows.endRow(cuts.bytes);
      stubs += isStub ? 1 : 0;
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
  /** Cuts of the group, and of the current span. */
  readonly cuts: Cuts;
}

function encodeResource(scope: RecordScope, cuts: Cuts): Uint8Array {
  const writer = new RowWriter(256);
  cuts.begin();
  writer.string(cuts.text(scope.serviceName, 'ServiceName'));
  writer.map(cuts.attributes(scope.resourceAttributes, 'ResourceAttributes'));
  return writer.written();
}

function encodeScope(scope: RecordScope, cuts: Cuts, before: Cuts): Uint8Array {
  const writer = new RowWriter(64);
  cuts.begin(before);
  writer.string(cuts.text(scope.scopeName, 'ScopeName'));
  writer.string(cuts.text(scope.scopeVersion, 'ScopeVersion'));
  return writer.written();
}

function writeSpan(reader: ProtoReader, writer: RowWriter, shared: SharedColumns): void {
  const { bytes } = reader;
  const { cuts } = shared;
  const { text } = span;
  requireStorableHigh(span.startHigh, 'startTimeUnixNano');
  requireStorableHigh(span.endHigh, 'endTimeUnixNano');
  writeTime(writer, span.startLow, span.startHigh);
  writeId(bytes, writer, text, SPAN_TEXT.traceId, 16, 'traceId');
  writeId(bytes, writer, text, SPAN_TEXT.spanId, 8, 'spanId');
  const parentStart = text[SPAN_TEXT.parentSpanId * 2] as number;
  const parentEnd = text[SPAN_TEXT.parentSpanId * 2 + 1] as number;
  if (hasId(bytes, parentStart, parentEnd, 8, 'parentSpanId')) {
    writeHexId(bytes, writer, parentStart, parentEnd);
  } else {
    writer.uint8(0);
  }
  writeCutText(reader, writer, textAt(text, SPAN_TEXT.traceState), { cuts, column: 'TraceState' });
  writeCutText(reader, writer, textAt(text, SPAN_TEXT.name), { cuts, column: 'SpanName' });
  writer.raw((KIND_BYTES[span.kind] ?? KIND_BYTES[0]) as Uint8Array);
  writer.raw(shared.resourceBytes);
  writer.raw(shared.scopeBytes);
  writeAttributes(reader, writer, span.attributes, { cuts, column: 'SpanAttributes' });
  writeDuration(writer);
  writer.raw((STATUS_BYTES[span.statusCode] ?? STATUS_BYTES[0]) as Uint8Array);
  writeCutText(reader, writer, [span.statusStart, span.statusEnd], { cuts, column: 'StatusMessage' });
  const eventsFit = writeEvents(reader, writer, span.events, cuts);
  writeLinks(reader, writer, span.links, cuts);
  writer.raw(shared.tenantBytes);
  writer.uint32(span.droppedAttributes);
  encodeTruncated(writer, cuts.names(), true, eventsFit);
}

/** Writes a time as Int64. Returns false when the time was clamped. */
function writeTime(writer: RowWriter, low: number, high: number): boolean {
  const fits = high <= INT64_HIGH;
  writer.uint32(fits ? low : 0xffff_ffff);
  writer.uint32(fits ? high : INT64_HIGH);
  return fits;
}

/** Writes end minus start, 0 when the span ends before it starts. */
function writeDuration(writer: RowWriter): void {
  const { startLow, startHigh, endLow, endHigh } = span;
  const ended = endHigh > startHigh || (endHigh === startHigh && endLow > startLow);
  const borrow = endLow < startLow ? 1 : 0;
  writer.uint32(ended ? endLow - startLow : 0);
  writer.uint32(ended ? endHigh - startHigh - borrow : 0);
}

function writeEvents(reader: ProtoReader, writer: RowWriter, events: RangeList, cuts: Cuts): boolean {
  let fits = true;
  if (events.count > cuts.limits.maxEvents) {
    cuts.note('Events');
    events.count = cuts.limits.maxEvents;
  }
  writer.varint(events.count);
  eachPart(reader, events, EVENT_ATTRIBUTES, () => {
    fits = writeTime(writer, part.timeLow, part.timeHigh) && fits;
  });
  const name = { cuts, column: 'Events.Name' };
  writer.varint(events.count);
  eachPart(reader, events, EVENT_ATTRIBUTES, () => writeCutText(reader, writer, textAt(part.text, 2), name));
  const attributes = { cuts, column: 'Events.Attributes' };
  writer.varint(events.count);
  eachPart(reader, events, EVENT_ATTRIBUTES, () =>
    writeAttributes(reader, writer, part.attributes, attributes),
  );
  return fits;
}

function writeLinks(reader: ProtoReader, writer: RowWriter, links: RangeList, cuts: Cuts): void {
  const { bytes } = reader;
  if (links.count > cuts.limits.maxLinks) {
    cuts.note('Links');
    links.count = cuts.limits.maxLinks;
  }
  writer.varint(links.count);
  eachPart(reader, links, LINK_ATTRIBUTES, () => writeId(bytes, writer, part.text, 1, 16, 'link traceId'));
  writer.varint(links.count);
  eachPart(reader, links, LINK_ATTRIBUTES, () => writeId(bytes, writer, part.text, 2, 8, 'link spanId'));
  const state = { cuts, column: 'Links.TraceState' };
  writer.varint(links.count);
  eachPart(reader, links, LINK_ATTRIBUTES, () => writeCutText(reader, writer, textAt(part.text, 3), state));
  const attributes = { cuts, column: 'Links.Attributes' };
  writer.varint(links.count);
  eachPart(reader, links, LINK_ATTRIBUTES, () =>
    writeAttributes(reader, writer, part.attributes, attributes),
  );
}

/** Scans each event or link again for each column, because columns are written one after the other. */
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

function textAt(text: Float64Array, field: number): [number, number] {
  return [text[field * 2] as number, text[field * 2 + 1] as number];
}

function encoded(text: string): Uint8Array {
  const writer = new RowWriter(text.length + 2);
  writer.string(text);
  return writer.written();
}

const pair = createKeyValueScan();
const eventPart = createPartScan();

/** Like `hasUsefulContent`, for a scanned span that is not decoded. */
function isUsefulSpan(
  reader: ProtoReader,
  {
    scopeName,
    span: scanned,
    signals = AGENT_SIGNALS,
  }: { scopeName: string; span: SpanScan; signals?: AgentSignals | undefined },
): boolean {
  const eventNames = [...listEventNames(reader, scanned.events)];
  return (
    eventNames.some(isKeptEvent) ||
    looksLikeAgent({ scopeName, attributeKeys: listKeys(reader, scanned.attributes), eventNames }, signals)
  );
}

/** Like `buildStub`: removes all fields but the position in the tree from a scanned span. */
function keepPlaceOnly(reader: ProtoReader, scanned: SpanScan, cuts: Cuts): void {
  cuts.note(STUB_MARK);
  const { at, count } = scanned.attributes;
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const [start, end] = [at[i * 2] as number, at[i * 2 + 1] as number];
    if (isKeptKey(keyAt(reader, start, end))) {
      at[kept * 2] = start;
      at[kept * 2 + 1] = end;
      kept++;
    }
  }
  scanned.attributes.count = kept;
  scanned.events.count = 0;
  scanned.links.count = 0;
  scanned.droppedAttributes = 0;
  scanned.text[SPAN_TEXT.traceState * 2 + 1] = scanned.text[SPAN_TEXT.traceState * 2] as number;
}

function* listKeys(reader: ProtoReader, list: RangeList): Generator<string> {
  for (let i = 0; i < list.count; i++) {
    yield keyAt(reader, list.at[i * 2] as number, list.at[i * 2 + 1] as number);
  }
}

function keyAt(reader: ProtoReader, start: number, end: number): string {
  scanKeyValue(reader, start, end, pair);
  return readText(reader, pair.keyStart, pair.keyEnd);
}

function* listEventNames(reader: ProtoReader, list: RangeList): Generator<string> {
  for (let i = 0; i < list.count; i++) {
    scanPart(reader, list.at[i * 2] as number, list.at[i * 2 + 1] as number, 3, eventPart);
    yield readText(reader, eventPart.text[4] as number, eventPart.text[5] as number);
  }
}
