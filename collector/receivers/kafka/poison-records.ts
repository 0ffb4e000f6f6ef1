import { randomBytes } from 'node:crypto';
import { InvalidInputError } from '../../../src/domain/errors.ts';

/** Batch of records that could not be decompressed. */
interface PoisonBatch {
  readonly reason: string;
  /** Bytes as in the topic. */
  readonly bytes: Buffer;
}

/** Random mark, unknown to writers of a topic: no record of theirs can look like a stand-in. */
const MARK = randomBytes(16);
const VALUE_BYTES = MARK.length + 4;
/** Number of stand-ins for a batch that does not state its number of records. */
const UNTOLD_RECORDS = 100_000;
/** Limit of stand-ins, at 30 bytes each. */
const MAX_RECORDS = 1_000_000;
/** Limit of poison batches that no reader has met yet; the oldest is forgotten first. */
const MAX_KEPT = 64;

const kept = new Map<number, PoisonBatch>();
let lastId = 0;

/** Positions in the header of a batch, counted back from its records: see the record batch of Kafka's protocol. */
const COUNT_BEFORE = 4;
const LAST_DELTA_BEFORE = 38;
const MAGIC_BEFORE = 45;
const FIRST_OFFSET_BEFORE = 61;
const MAGIC = 2;

/** First offset and record count of a batch. */
interface BatchHeader {
  readonly firstOffset: bigint;
  readonly records: number;
}

/**
 * Reads the header of the batch with these compressed records. The client gives a decompressor a view of the fetched
 * answer, in which the header is directly before the records. Returns undefined without a header.
 */
function readHeader({ buffer, byteOffset }: Buffer): BatchHeader | undefined {
  if (byteOffset < FIRST_OFFSET_BEFORE) {
    return undefined;
  }
  const view = new DataView(buffer, byteOffset - FIRST_OFFSET_BEFORE, FIRST_OFFSET_BEFORE);
  const at = (before: number): number => FIRST_OFFSET_BEFORE - before;
  const records = view.getInt32(at(COUNT_BEFORE));
  const isHeader =
    view.getInt8(at(MAGIC_BEFORE)) === MAGIC &&
    records > 0 &&
    records - 1 <= view.getInt32(at(LAST_DELTA_BEFORE));
  return isHeader ? { firstOffset: view.getBigInt64(0), records } : undefined;
}

/**
 * Creates stand-in records for a batch that cannot be decompressed. The Kafka client would stop after a failed
 * decompression, and would not name the partition. With stand-ins it continues, and the handler of the batch finds the
 * unreadable offsets with `readPoison`. Throws an `InvalidInputError`, which stops the client, for a batch with more
 * records than the limit of stand-ins.
 */
export function listPoisonRecords(data: Buffer, reason: string): Buffer {
  const header = readHeader(data);
  const records = header?.records ?? UNTOLD_RECORDS;
  if (records > MAX_RECORDS) {
    throw new InvalidInputError(
      `${reason}; it begins at offset ${header?.firstOffset} and has ${records} records, more than the ${MAX_RECORDS} that can be skipped: move the offset of the group behind it`,
    );
  }
  const id = ++lastId;
  kept.set(id, { reason, bytes: Buffer.from(data) });
  const [oldest] = kept.keys();
  if (kept.size > MAX_KEPT && oldest !== undefined) {
    kept.delete(oldest);
  }
  const value = Buffer.alloc(VALUE_BYTES);
  MARK.copy(value);
  value.writeUInt32BE(id, MARK.length);
  const buffer = Buffer.allocUnsafe(records * (VALUE_BYTES + 10));
  let at = 0;
  for (let offsetDelta = 0; offsetDelta < records; offsetDelta++) {
    at = writeRecord(buffer, at, offsetDelta, value);
  }
  return buffer.subarray(0, at);
}

/** Returns the poison batch of a stand-in's value; undefined for any other value. */
export function readPoison(value: Buffer | null): PoisonBatch | undefined {
  if (value?.length !== VALUE_BYTES || !value.subarray(0, MARK.length).equals(MARK)) {
    return undefined;
  }
  return (
    kept.get(value.readUInt32BE(MARK.length)) ?? {
      reason: 'could not be decompressed',
      bytes: Buffer.alloc(0),
    }
  );
}

/**
 * Writes a record: length, attributes, timestamp delta, offset delta, no key, value, no headers; numbers as zigzag varints.
 */
function writeRecord(buffer: Buffer, start: number, offsetDelta: number, value: Buffer): number {
  const deltaBytes = zigzagSize(offsetDelta);
  let at = writeZigzag(buffer, start, 5 + deltaBytes + value.length);
  buffer[at++] = 0;
  buffer[at++] = 0;
  at = writeZigzag(buffer, at, offsetDelta);
  buffer[at++] = 1;
  at = writeZigzag(buffer, at, value.length);
  at += value.copy(buffer, at);
  buffer[at++] = 0;
  return at;
}

function zigzagSize(value: number): number {
  const number = value * 2;
  return number < 0x80 ? 1 : number < 0x4000 ? 2 : number < 0x20_0000 ? 3 : 4;
}

function writeZigzag(buffer: Buffer, start: number, value: number): number {
  let rest = value * 2;
  let at = start;
  for (; rest >= 0x80; rest >>>= 7) {
    buffer[at++] = (rest & 0x7f) | 0x80;
  }
  buffer[at++] = rest;
  return at;
}
