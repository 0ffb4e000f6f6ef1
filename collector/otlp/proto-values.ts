import { type AnyValue, MAX_VALUE_DEPTH } from '../../src/wire/any-value.ts';
import { InvalidInputError } from '../../src/domain/errors.ts';
import { FIXED64, LENGTH, type ProtoReader, VARINT } from './proto-reader.ts';

/** Field numbers of the oneof of `AnyValue`; 0 means that none is set (null). */
export const STRING_VALUE = 1;
export const BOOL_VALUE = 2;
export const INT_VALUE = 3;
export const DOUBLE_VALUE = 4;
export const ARRAY_VALUE = 5;
export const KVLIST_VALUE = 6;
export const BYTES_VALUE = 7;

const WIRE_OF_VALUE = [-1, LENGTH, VARINT, VARINT, FIXED64, LENGTH, LENGTH, LENGTH];

/** Position of a value: a range for text, bytes and structures, two halves for numbers. */
interface ValueScan {
  kind: number;
  start: number;
  end: number;
  low: number;
  high: number;
}

export function createValueScan(): ValueScan {
  return { kind: 0, start: 0, end: 0, low: 0, high: 0 };
}

/** Finds the member of an `AnyValue` that is set; the last of several counts. Skips unknown members. */
export function scanValue(reader: ProtoReader, start: number, end: number, into: ValueScan): void {
  into.kind = 0;
  reader.position = start;
  while (reader.readTag(end)) {
    const { field, wire } = reader;
    if (WIRE_OF_VALUE[field] !== wire) {
      reader.skip(end);
      continue;
    }
    into.kind = field;
    if (wire === LENGTH) {
      reader.readRange(end);
      into.start = reader.start;
      into.end = reader.end;
    } else {
      if (wire === VARINT) {
        reader.readVarint(end);
      } else {
        reader.readFixed64(end);
      }
      into.low = reader.low;
      into.high = reader.high;
    }
  }
}

/** Joins the halves of a signed 64-bit integer: a number when exact, else a bigint. */
export function toInteger(low: number, high: number): number | bigint {
  if (high === 0) {
    return low;
  }
  const value = (BigInt(high | 0) << 32n) | BigInt(low);
  const double = Number(value);
  return Number.isSafeInteger(double) ? double : value;
}

const DOUBLE = new DataView(new ArrayBuffer(8));

/** Joins the halves of an IEEE double. */
export function toDouble(low: number, high: number): number {
  DOUBLE.setUint32(0, high);
  DOUBLE.setUint32(4, low);
  return DOUBLE.getFloat64(0);
}

/** Reads the text of a field; invalid UTF-8 becomes U+FFFD. */
export function readText(reader: ProtoReader, start: number, end: number): string {
  return reader.bytes.toString('utf8', start, end);
}

/** Decodes the `AnyValue` in a range. Throws when it is nested deeper than `MAX_VALUE_DEPTH`. */
export function readAnyValue(reader: ProtoReader, start: number, end: number, depth = 0): AnyValue {
  if (depth > MAX_VALUE_DEPTH) {
    throw new InvalidInputError(`attribute value nested deeper than ${MAX_VALUE_DEPTH} levels`);
  }
  const value = createValueScan();
  scanValue(reader, start, end, value);
  switch (value.kind) {
    case STRING_VALUE:
      return readText(reader, value.start, value.end);
    case BOOL_VALUE:
      return value.low !== 0 || value.high !== 0;
    case INT_VALUE:
      return toInteger(value.low, value.high);
    case DOUBLE_VALUE:
      return toDouble(value.low, value.high);
    case ARRAY_VALUE:
      return readArray(reader, value.start, value.end, depth + 1);
    case KVLIST_VALUE:
      return readKeyValues(reader, value.start, value.end, depth + 1);
    case BYTES_VALUE:
      return reader.bytes.subarray(value.start, value.end);
    default:
      return null;
  }
}

/** Positions of the two members of a `KeyValue`. */
interface KeyValueScan {
  keyStart: number;
  keyEnd: number;
  valueStart: number;
  valueEnd: number;
}

export function createKeyValueScan(): KeyValueScan {
  return { keyStart: 0, keyEnd: 0, valueStart: 0, valueEnd: 0 };
}

export function scanKeyValue(reader: ProtoReader, start: number, end: number, into: KeyValueScan): void {
  into.keyStart = into.keyEnd = into.valueStart = into.valueEnd = start;
  reader.position = start;
  while (reader.readTag(end)) {
    const { field } = reader;
    if (reader.wire !== LENGTH) {
      reader.skip(end);
      continue;
    }
    reader.readRange(end);
    if (field === 1) {
      into.keyStart = reader.start;
      into.keyEnd = reader.end;
    } else if (field === 2) {
      into.valueStart = reader.start;
      into.valueEnd = reader.end;
    }
  }
}

function readArray(reader: ProtoReader, start: number, end: number, depth: number): AnyValue[] {
  const items: AnyValue[] = [];
  reader.position = start;
  while (reader.readTag(end)) {
    if (reader.field === 1 && reader.wire === LENGTH) {
      reader.readRange(end);
      items.push(readAnyValue(reader, reader.start, reader.end, depth));
    } else {
      reader.skip(end);
    }
  }
  return items;
}

function readKeyValues(
  reader: ProtoReader,
  start: number,
  end: number,
  depth: number,
): Map<string, AnyValue> {
  const entries = new Map<string, AnyValue>();
  const pair = createKeyValueScan();
  reader.position = start;
  while (reader.readTag(end)) {
    if (reader.field === 1 && reader.wire === LENGTH) {
      reader.readRange(end);
      const after = reader.end;
      scanKeyValue(reader, reader.start, after, pair);
      const key = readText(reader, pair.keyStart, pair.keyEnd);
      entries.set(key, readAnyValue(reader, pair.valueStart, pair.valueEnd, depth));
      reader.position = after;
    } else {
      reader.skip(end);
    }
  }
  return entries;
}
