import { isUtf8 } from 'node:buffer';
import { lowerValue } from '../../src/wire/any-value.ts';
import type { RowWriter } from '../../src/store/contracts/rows.ts';
import type { Cuts } from './cuts.ts';
import type { ProtoReader, RangeList } from './proto-reader.ts';
import {
  ARRAY_VALUE,
  BOOL_VALUE,
  BYTES_VALUE,
  toDouble,
  DOUBLE_VALUE,
  INT_VALUE,
  toInteger,
  KVLIST_VALUE,
  createKeyValueScan,
  createValueScan,
  readAnyValue,
  readText,
  scanKeyValue,
  scanValue,
  STRING_VALUE,
} from './proto-values.ts';

/** Up to this many bytes, a loop that copies and checks is faster than two calls into the runtime. */
const LOOP_BYTES = 48;
/** Limit of attributes whose keys are compared by hash; a longer list uses a Map. */
const HASHED_ATTRIBUTES = 512;
const SLOTS = 2048;
/** Limit of occupied slots that a key may meet; above it the key may be crafted, and the list uses a Map. */
const MAX_PROBES = 16;
const FNV_OFFSET = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

/** Cuts, and the column that they belong to. */
interface CutsOf {
  readonly cuts: Cuts;
  readonly column: string;
}

const pair = createKeyValueScan();
const value = createValueScan();
const slotHash = new Int32Array(SLOTS);
const slotRound = new Uint32Array(SLOTS);
let round = 0;

/** Reads the attributes in a list of `KeyValue` ranges, values as text; the last of equal keys counts. */
export function readAttributes(reader: ProtoReader, list: RangeList): Map<string, string> {
  const attributes = new Map<string, string>();
  for (let i = 0; i < list.count; i++) {
    scanKeyValue(reader, list.at[i * 2] as number, list.at[i * 2 + 1] as number, pair);
    const key = readText(reader, pair.keyStart, pair.keyEnd);
    attributes.set(key, lowerValue(readAnyValue(reader, pair.valueStart, pair.valueEnd)));
  }
  return attributes;
}

/**
 * Writes a list of `KeyValue` ranges as a `Map(String, String)`: the same bytes as `readAttributes` and `RowWriter.map`,
 * but without creating strings. A list with a repeated or non-ASCII key uses those slower functions.
 */
export function writeAttributes(
  reader: ProtoReader,
  writer: RowWriter,
  list: RangeList,
  { cuts, column }: CutsOf,
): void {
  const before = writer.length;
  const noted = cuts.mark();
  const most = Math.min(HASHED_ATTRIBUTES, cuts.limits.maxAttributes);
  if (list.count > most || !writeFast(reader, writer, list, { cuts, column })) {
    writer.length = before;
    cuts.takeBack(noted);
    writer.map(cuts.attributes(readAttributes(reader, list), column));
  }
}

function writeFast(reader: ProtoReader, writer: RowWriter, list: RangeList, of: CutsOf): boolean {
  round = (round + 1) >>> 0;
  writer.varint(list.count);
  for (let i = 0; i < list.count; i++) {
    scanKeyValue(reader, list.at[i * 2] as number, list.at[i * 2 + 1] as number, pair);
    if (!writeKey(reader.bytes, writer, pair.keyStart, pair.keyEnd)) {
      return false;
    }
    scanValue(reader, pair.valueStart, pair.valueEnd, value);
    writeValue(reader, writer, of);
  }
  return true;
}

/** Writes a key. Returns false when the key is not ASCII or may be a repeated key. */
function writeKey(bytes: Buffer, writer: RowWriter, start: number, end: number): boolean {
  writer.varint(end - start);
  writer.reserve(end - start);
  const out = writer.bytes;
  let at = writer.length;
  let seen = 0;
  let hash = FNV_OFFSET;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    seen |= byte;
    hash = Math.imul(hash ^ byte, FNV_PRIME);
    out[at++] = byte;
  }
  writer.length = at;
  return seen < 0x80 && claim(hash);
}

/**
 * Marks a hash as seen in this round. Returns false when it was marked before. The table uses open addressing and is at
 * most a quarter full.
 */
function claim(hash: number): boolean {
  let slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
  for (let probe = 0; probe < MAX_PROBES; probe++) {
    if (slotRound[slot] !== round) {
      slotRound[slot] = round;
      slotHash[slot] = hash;
      return true;
    }
    if (slotHash[slot] === hash) {
      return false;
    }
    slot = (slot + 1) & (SLOTS - 1);
  }
  return false;
}

function writeValue(reader: ProtoReader, writer: RowWriter, { cuts, column }: CutsOf): void {
  switch (value.kind) {
    case STRING_VALUE:
      if (value.end - value.start > cuts.limits.maxTextBytes) {
        const key = readText(reader, pair.keyStart, pair.keyEnd);
        writer.string(cuts.text(readText(reader, value.start, value.end), column, key));
      } else {
        writeText(reader.bytes, writer, value.start, value.end);
      }
      return;
    case BOOL_VALUE:
      writer.string(value.low !== 0 || value.high !== 0 ? 'true' : 'false');
      return;
    case INT_VALUE:
      writer.string(String(toInteger(value.low, value.high)));
      return;
    case DOUBLE_VALUE:
      writer.string(String(toDouble(value.low, value.high)));
      return;
    case BYTES_VALUE:
    case ARRAY_VALUE:
    case KVLIST_VALUE:
      writeStructure(reader, writer, { cuts, column });
      return;
    default:
      writer.uint8(0);
  }
}

function writeStructure(reader: ProtoReader, writer: RowWriter, { cuts, column }: CutsOf): void {
  const lowered = lowerValue(readAnyValue(reader, pair.valueStart, pair.valueEnd));
  const isLong = lowered.length * 3 > cuts.limits.maxTextBytes;
  writer.string(isLong ? cuts.text(lowered, column, readText(reader, pair.keyStart, pair.keyEnd)) : lowered);
}

/** Like `writeText`, within the limits. */
export function writeCutText(
  reader: ProtoReader,
  writer: RowWriter,
  [start, end]: readonly [number, number],
  { cuts, column }: CutsOf,
): void {
  if (end - start > cuts.limits.maxTextBytes) {
    writer.string(cuts.text(readText(reader, start, end), column));
  } else {
    writeText(reader.bytes, writer, start, end);
  }
}

/** Writes a string field; replaces invalid UTF-8. */
function writeText(bytes: Buffer, writer: RowWriter, start: number, end: number): void {
  const size = end - start;
  const before = writer.length;
  writer.varint(size);
  writer.reserve(size);
  let valid = true;
  if (size <= LOOP_BYTES) {
    const out = writer.bytes;
    let at = writer.length;
    let seen = 0;
    for (let i = start; i < end; i++) {
      const byte = bytes[i] as number;
      seen |= byte;
      out[at++] = byte;
    }
    writer.length = at;
    valid = seen < 0x80 || isUtf8(bytes.subarray(start, end));
  } else {
    valid = isUtf8(bytes.subarray(start, end));
    bytes.copy(writer.bytes, writer.length, start, end);
    writer.length += size;
  }
  if (!valid) {
    writer.length = before;
    writer.string(bytes.toString('utf8', start, end));
  }
}
