import { randomBytes } from 'node:crypto';

/** A batch of records that could not be decompressed. */
export interface PoisonBatch {
  readonly reason: string;
  /** As it lies in the topic. */
  readonly bytes: Buffer;
}

/** Unknown to whoever writes to a topic: no record of theirs can pass for one of these. */
const MARK = randomBytes(16);
const VALUE_BYTES = MARK.length + 4;
/** More records than a batch that cannot be read is thought to have. */
const MAX_RECORDS = 100_000;
/** Poison that has not been met yet by its reader; the oldest is forgotten first. */
const MAX_KEPT = 64;

const kept = new Map<number, PoisonBatch>();
let lastId = 0;

/**
 * Records that stand in for those of a batch which cannot be decompressed. The Kafka client takes a decompressor's failure
 * as its own end and never tells which partition it was in; given these records, it goes on, and whoever handles the batch
 * finds out by `poisonOf` at which offsets nothing could be read.
 */
export function poisonRecords(poison: PoisonBatch): Buffer {
  const id = ++lastId;
  kept.set(id, poison);
  const [oldest] = kept.keys();
  if (kept.size > MAX_KEPT && oldest !== undefined) {
    kept.delete(oldest);
  }
  const value = Buffer.alloc(VALUE_BYTES);
  MARK.copy(value);
  value.writeUInt32BE(id, MARK.length);
  const buffer = Buffer.allocUnsafe(MAX_RECORDS * (VALUE_BYTES + 10));
  let at = 0;
  for (let offsetDelta = 0; offsetDelta < MAX_RECORDS; offsetDelta++) {
    at = writeRecord(buffer, at, offsetDelta, value);
  }
  return buffer.subarray(0, at);
}

/** The batch that a stand-in's value stands for; undefined for every other value. */
export function poisonOf(value: Buffer | null): PoisonBatch | undefined {
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

/** length, attributes, timestamp delta, offset delta, no key, value, no headers; numbers in zigzag varints. */
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
