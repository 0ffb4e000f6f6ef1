const INITIAL_BYTES = 16 * 1024;
const SHORT_TEXT = 64;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const UINT64_MAX = 2n ** 64n - 1n;

/**
 * Growable buffer of RowBinary values: little-endian integers, LEB128 lengths, UTF-8 strings. The first `length` bytes of
 * `bytes` are the written bytes; code that writes in bulk may call `reserve` and fill `bytes` itself.
 */
export class RowWriter {
  bytes: Buffer;
  length = 0;

  constructor(initialBytes = INITIAL_BYTES) {
    this.bytes = Buffer.allocUnsafeSlow(Math.max(initialBytes, 16));
  }

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed > this.bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
      this.bytes.copy(grown, 0, 0, this.length);
      this.bytes = grown;
    }
  }

  /** Returns the bytes written so far, without a copy: valid until the next write. */
  written(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  /** Begins a new buffer; earlier results of `written` stay unchanged. */
  renew(initialBytes = INITIAL_BYTES): void {
    this.bytes = Buffer.allocUnsafeSlow(Math.max(initialBytes, 16));
    this.length = 0;
  }

  uint8(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  uint32(value: number): void {
    this.reserve(4);
    const { bytes, length } = this;
    bytes[length] = value;
    bytes[length + 1] = value >>> 8;
    bytes[length + 2] = value >>> 16;
    bytes[length + 3] = value >>> 24;
    this.length = length + 4;
  }

  /** Returns false when the value did not fit and was clamped. */
  int64(value: bigint): boolean {
    this.reserve(8);
    const clamped = value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : value;
    this.length = this.bytes.writeBigInt64LE(clamped, this.length);
    return clamped === value;
  }

  /** Returns false when the value did not fit and was clamped. */
  uint64(value: bigint): boolean {
    this.reserve(8);
    const clamped = value > UINT64_MAX ? UINT64_MAX : value < 0n ? 0n : value;
    this.length = this.bytes.writeBigUInt64LE(clamped, this.length);
    return clamped === value;
  }

  /** Writes an unsigned LEB128 number below 2^53: a length or a count. */
  varint(value: number): void {
    this.reserve(8);
    if (value < 0x80) {
      this.bytes[this.length++] = value;
      return;
    }
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.length++] = (rest & 0x7f) | 0x80;
      rest = Math.floor(rest / 128);
    }
    this.bytes[this.length++] = rest;
  }

  /** Writes a length-prefixed UTF-8 string; lone surrogates become U+FFFD. */
  string(text: string): void {
    if (text.length < SHORT_TEXT && this.#shortAscii(text)) {
      return;
    }
    const size = Buffer.byteLength(text);
    this.varint(size);
    this.reserve(size);
    this.length += this.bytes.write(text, this.length);
  }

  /** Writes length-prefixed, unchanged bytes. */
  stringBytes(source: Uint8Array, start: number, end: number): void {
    this.varint(end - start);
    this.raw(source, start, end);
  }

  /** Writes bytes without a length: parts of rows that are already encoded. */
  raw(source: Uint8Array, start = 0, end = source.length): void {
    const size = end - start;
    this.reserve(size);
    this.bytes.set(start === 0 && end === source.length ? source : source.subarray(start, end), this.length);
    this.length += size;
  }

  /** Writes a `Map(String, String)`. */
  map(entries: ReadonlyMap<string, string>): void {
    this.varint(entries.size);
    for (const [key, value] of entries) {
      this.string(key);
      this.string(value);
    }
  }

  /** Writes an `Array(String)`. */
  strings(items: readonly string[]): void {
    this.varint(items.length);
    for (const item of items) {
      this.string(item);
    }
  }

  /** Writes short ASCII text byte by byte, which is faster than a call of the runtime's encoder. */
  #shortAscii(text: string): boolean {
    this.reserve(text.length + 1);
    const start = this.length;
    this.bytes[start] = text.length;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) {
        return false;
      }
      this.bytes[start + 1 + i] = code;
    }
    this.length = start + 1 + text.length;
    return true;
  }
}
