import { EngineError } from './engine-error.ts';

// The engine writes its Native format as files have it. Clients that name a protocol revision expect what the network
// protocol puts around each block and each column.

/** Since then a block begins with its BlockInfo. */
const BLOCK_INFO_REVISION = 51_903;
/** Since then a column's type is followed by whether its values are written in a way of their own. */
const CUSTOM_SERIALIZATION_REVISION = 54_454;
/** Field 1, no overflow rows; field 2, no bucket (-1 as Int32); end. */
const BLOCK_INFO = Buffer.from([1, 0, 2, 0xff, 0xff, 0xff, 0xff, 0]);
const USUAL_SERIALIZATION = Buffer.from([0]);

/** Bytes of one value, by the name of its type without what is in brackets. */
const VALUE_BYTES = new Map<string, number>([
  ...['UInt8', 'Int8', 'Bool', 'Enum8'].map((type) => [type, 1] as const),
  ...['UInt16', 'Int16', 'Date', 'Enum16'].map((type) => [type, 2] as const),
  ...['UInt32', 'Int32', 'Float32', 'Date32', 'DateTime', 'IPv4'].map((type) => [type, 4] as const),
  ...['UInt64', 'Int64', 'Float64', 'DateTime64'].map((type) => [type, 8] as const),
  ...['UInt128', 'Int128', 'UUID', 'IPv6'].map((type) => [type, 16] as const),
]);

/** Reads the engine's own bytes, which are whole; reading beyond them throws a RangeError. */
class NativeReader {
  at = 0;
  private readonly bytes: Buffer;
  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.at >= this.bytes.length;
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes.readUInt8(this.at++);
      value += (byte & 0x7f) * scale;
      if (byte < 128) {
        return value;
      }
    }
  }

  text(): string {
    const length = this.varint();
    this.at += length;
    return this.bytes.toString('utf8', this.at - length, this.at);
  }

  /** Steps over the values of a column. */
  skip(type: string, rows: number): void {
    const nullable = /^Nullable\((.*)\)$/su.exec(type)?.[1];
    if (nullable !== undefined) {
      this.at += rows;
      this.skip(nullable, rows);
      return;
    }
    if (type === 'String') {
      for (let row = 0; row < rows; row++) {
        const length = this.varint();
        this.at += length;
      }
      return;
    }
    const bytes = VALUE_BYTES.get(/^\w+/u.exec(type)?.[0] ?? '');
    if (bytes === undefined) {
      throw new EngineError(
        'NOT_IMPLEMENTED',
        `The embedded engine sends no ${type} in the Native format to a client with a protocol version: ` +
          'ask for another format, or for toString of the column',
      );
    }
    this.at += rows * bytes;
  }
}

/**
 * Blocks in the Native format of files as a client of the protocol `revision` (0: none) reads them. Throws `EngineError`
 * NOT_IMPLEMENTED for columns other than numbers, times and strings.
 */
export function atRevision(native: Uint8Array, revision: number): Buffer {
  const bytes = Buffer.from(native.buffer, native.byteOffset, native.byteLength);
  const reader = new NativeReader(bytes);
  const parts: Buffer[] = [];
  while (!reader.isAtEnd) {
    let from = reader.at;
    if (revision >= BLOCK_INFO_REVISION) {
      parts.push(BLOCK_INFO);
    }
    const columns = reader.varint();
    const rows = reader.varint();
    for (let column = 0; column < columns; column++) {
      reader.text();
      const type = reader.text();
      parts.push(bytes.subarray(from, reader.at));
      if (revision >= CUSTOM_SERIALIZATION_REVISION) {
        parts.push(USUAL_SERIALIZATION);
      }
      from = reader.at;
      reader.skip(type, rows);
    }
    parts.push(bytes.subarray(from, reader.at));
  }
  return Buffer.concat(parts);
}
