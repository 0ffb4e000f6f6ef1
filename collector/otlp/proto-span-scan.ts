import {
  FIXED64,
  LENGTH,
  type ProtoReader,
  VARINT,
  addRange,
  createRangeList,
  type RangeList,
} from './proto-reader.ts';

/** Positions of the parts of one span. The object is reused for every span, so that reading creates no garbage. */
export interface SpanScan {
  /** Start and end of the text and bytes fields, by `SPAN_TEXT`. */
  readonly text: Float64Array;
  kind: number;
  startLow: number;
  startHigh: number;
  endLow: number;
  endHigh: number;
  droppedAttributes: number;
  statusCode: number;
  statusStart: number;
  statusEnd: number;
  readonly attributes: RangeList;
  readonly events: RangeList;
  readonly links: RangeList;
}

/** Field numbers of the text and bytes fields of a span. */
export const SPAN_TEXT = { traceId: 1, spanId: 2, traceState: 3, parentSpanId: 4, name: 5 } as const;

export function createSpanScan(): SpanScan {
  return {
    text: new Float64Array(12),
    kind: 0,
    startLow: 0,
    startHigh: 0,
    endLow: 0,
    endHigh: 0,
    droppedAttributes: 0,
    statusCode: 0,
    statusStart: 0,
    statusEnd: 0,
    attributes: createRangeList(),
    events: createRangeList(),
    links: createRangeList(),
  };
}

export function scanSpan(reader: ProtoReader, start: number, end: number, into: SpanScan): void {
  clear(into);
  reader.position = start;
  while (reader.readTag(end)) {
    switch (reader.wire) {
      case LENGTH: {
        const { field } = reader;
        reader.readRange(end);
        takeRange(reader, field, into);
        break;
      }
      case VARINT:
        reader.readVarint(end);
        takeVarint(reader, into);
        break;
      case FIXED64:
        reader.readFixed64(end);
        takeFixed(reader, into);
        break;
      default:
        reader.skip(end);
    }
  }
}

function clear(scan: SpanScan): void {
  scan.text.fill(0);
  scan.kind = 0;
  scan.startLow = scan.startHigh = scan.endLow = scan.endHigh = 0;
  scan.droppedAttributes = 0;
  scan.statusCode = scan.statusStart = scan.statusEnd = 0;
  scan.attributes.count = scan.events.count = scan.links.count = 0;
}

function takeRange(reader: ProtoReader, field: number, into: SpanScan): void {
  const { start, end } = reader;
  switch (field) {
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
      into.text[field * 2] = start;
      into.text[field * 2 + 1] = end;
      break;
    case 9:
      addRange(into.attributes, start, end);
      break;
    case 11:
      addRange(into.events, start, end);
      break;
    case 13:
      addRange(into.links, start, end);
      break;
    case 15:
      scanStatus(reader, start, end, into);
      break;
    default:
  }
}

function takeVarint(reader: ProtoReader, into: SpanScan): void {
  if (reader.field === 6) {
    into.kind = reader.high === 0 ? reader.low : 0;
  } else if (reader.field === 10) {
    into.droppedAttributes = reader.low;
  }
}

function takeFixed(reader: ProtoReader, into: SpanScan): void {
  if (reader.field === 7) {
    into.startLow = reader.low;
    into.startHigh = reader.high;
  } else if (reader.field === 8) {
    into.endLow = reader.low;
    into.endHigh = reader.high;
  }
}

function scanStatus(reader: ProtoReader, start: number, end: number, into: SpanScan): void {
  reader.position = start;
  while (reader.readTag(end)) {
    if (reader.field === 2 && reader.wire === LENGTH) {
      reader.readRange(end);
      into.statusStart = reader.start;
      into.statusEnd = reader.end;
    } else if (reader.field === 3 && reader.wire === VARINT) {
      reader.readVarint(end);
      into.statusCode = reader.high === 0 ? reader.low : 0;
    } else {
      reader.skip(end);
    }
  }
}

/** Positions of the parts of one event or link. */
interface PartScan {
  timeLow: number;
  timeHigh: number;
  /** Start and end of the fields 1 to 3 when they are text or bytes. */
  readonly text: Float64Array;
  readonly attributes: RangeList;
}

export function createPartScan(): PartScan {
  return { timeLow: 0, timeHigh: 0, text: new Float64Array(8), attributes: createRangeList() };
}

/** Scans an event (attributes in field 3) or a link (attributes in field 4). */
export function scanPart(
  reader: ProtoReader,
  start: number,
  end: number,
  attributesField: number,
  into: PartScan,
): void {
  into.timeLow = into.timeHigh = into.attributes.count = 0;
  into.text.fill(0);
  reader.position = start;
  while (reader.readTag(end)) {
    const { field } = reader;
    if (reader.wire === FIXED64 && field === 1) {
      reader.readFixed64(end);
      into.timeLow = reader.low;
      into.timeHigh = reader.high;
    } else if (reader.wire !== LENGTH) {
      reader.skip(end);
    } else {
      reader.readRange(end);
      if (field === attributesField) {
        addRange(into.attributes, reader.start, reader.end);
      } else if (field <= 3) {
        into.text[field * 2] = reader.start;
        into.text[field * 2 + 1] = reader.end;
      }
    }
  }
}
