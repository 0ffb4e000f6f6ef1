import { type IngestTable, LOG_COLUMNS, SPAN_COLUMNS } from '../../../src/store/contracts/rows.ts';

export type Row = Record<string, unknown>;

/** Reads RowBinary rows by the column types of `columns.ts`, independently of the writer. Maps stay lists of entries. */
export function readRows(table: IngestTable, bytes: Uint8Array): Row[] {
  const columns = table === 'otel_traces' ? SPAN_COLUMNS : LOG_COLUMNS;
  const cursor = { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), at: 0 };
  const rows: Row[] = [];
  while (cursor.at < bytes.length) {
    const row: Row = {};
    for (const [name, type] of columns) {
      row[name] = readValue(type, cursor);
    }
    rows.push(row);
  }
  return rows;
}

interface Cursor {
  bytes: Buffer;
  at: number;
}

function readValue(type: string, cursor: Cursor): unknown {
  const array = /^Array\((.*)\)$/.exec(type);
  if (array) {
    return Array.from({ length: readVarint(cursor) }, () => readValue(array[1] ?? '', cursor));
  }
  if (type.startsWith('Map(')) {
    return Array.from({ length: readVarint(cursor) }, () => [readText(cursor), readText(cursor)]);
  }
  switch (type) {
    case 'DateTime64(9)':
      cursor.at += 8;
      return cursor.bytes.readBigInt64LE(cursor.at - 8);
    case 'UInt64':
      cursor.at += 8;
      return cursor.bytes.readBigUInt64LE(cursor.at - 8);
    case 'UInt32':
      cursor.at += 4;
      return cursor.bytes.readUInt32LE(cursor.at - 4);
    case 'UInt8':
      return cursor.bytes.readUInt8(cursor.at++);
    default:
      return readText(cursor);
  }
}

function readVarint(cursor: Cursor): number {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = cursor.bytes.readUInt8(cursor.at++);
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) {
      return value;
    }
  }
}

function readText(cursor: Cursor): string {
  const size = readVarint(cursor);
  if (cursor.at + size > cursor.bytes.length) {
    throw new Error(`a string of ${size} bytes at ${cursor.at} passes the end`);
  }
  cursor.at += size;
  return cursor.bytes.toString('utf8', cursor.at - size, cursor.at);
}
