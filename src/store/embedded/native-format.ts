import { EngineError } from './engine-error.ts';

// The engine writes its Native format as it is in files. Clients that name a protocol revision expect the additional fields
// of the network protocol in each block and each column.

/** From this revision on, a block begins with its BlockInfo. */
const BLOCK_INFO_REVISION = 51_903;
/** From this revision on, a flag follows a column's type: whether the column has a custom serialization. */
const CUSTOM_SERIALIZATION_REVISION = 54_454;
/** Field 1: no overflow rows. Field 2: no bucket (-1 as Int32). End. */
const BLOCK_INFO = Buffer.from([1, 0, 2, 0xff, 0xff, 0xff, 0xff, 0]);
const USUAL_SERIALIZATION = Buffer.from([0]);

/** Bytes of one value, by the type's name. */
const VALUE_BYTES = new Map<string, number>([
  ...['UInt8', 'Int8', 'Bool', 'Enum8', 'Nothing'].map((type) => [type, 1] as const),
  ...['UInt16', 'Int16', 'Date', 'Enum16', 'BFloat16'].map((type) => [type, 2] as const),
  ...['UInt32', 'Int32', 'Float32', 'Date32', 'DateTime', 'IPv4', 'Time'].map((type) => [type, 4] as const),
  ...['UInt64', 'Int64', 'Float64', 'DateTime64', 'Time64'].map((type) => [type, 8] as const),
  ...['UInt128', 'Int128', 'UUID', 'IPv6'].map((type) => [type, 16] as const),
  ...['UInt256', 'Int256'].map((type) => [type, 32] as const),
]);
/** Maximum digits of a decimal and the bytes that it takes. */
const DECIMAL_BYTES = [
  [9, 4],
  [18, 8],
  [38, 16],
  [76, 32],
] as const;
/** Geometric types and the types that they consist of. */
const GEO_TYPES = new Map([
  ['Point', 'Tuple(Float64, Float64)'],
  ['Ring', 'Array(Point)'],
  ['LineString', 'Array(Point)'],
  ['MultiLineString', 'Array(LineString)'],
  ['Polygon', 'Array(Ring)'],
  ['MultiPolygon', 'Array(Polygon)'],
]);
/** Version of a JSON column whose values are written as text. */
const JSON_AS_TEXT = 1n;

function bytesOfValue({ name, parts }: NativeType): number | undefined {
  if (name === 'FixedString') {
    return Number(parts[0]);
  }
  if (name === 'Decimal') {
    return DECIMAL_BYTES.find(([digits]) => Number(parts[0]) <= digits)?.[1];
  }
  return name.startsWith('Interval') ? 8 : VALUE_BYTES.get(name);
}

function refuseType(type: string): never {
  throw new EngineError(
    'NOT_IMPLEMENTED',
    `The embedded engine sends no ${type} in the Native format to a client with a protocol version: ` +
      'ask for another format, or for toString of the column',
  );
}

/** Reader of the engine's bytes. Throws a RangeError when it reads beyond the end. */
class NativeReader {
  at = 0;
  private readonly bytes: Buffer;
  constructor(bytes: Buffer) {
    this.bytes = bytes;
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
    this.step(length);
    return this.bytes.toString('utf8', this.at - length, this.at);
  }

  /** Skips the values of a whole column. */
  skipColumn(type: string, rows: number): void {
    if (rows > 0) {
      this.skipPrefix(type);
      this.skipValues(type, rows);
    }
  }

  private step(bytes: number): void {
    this.at += bytes;
    if (this.at > this.bytes.length) {
      throw new RangeError('the block goes on behind these bytes');
    }
  }

  private uint64(): bigint {
    const value = this.bytes.readBigUInt64LE(this.at);
    this.at += 8;
    return value;
  }

  /** Skips the prefix of a column and of each column inside it, which comes before all values. */
  private skipPrefix(type: string): void {
    const { name, parts } = parseNativeType(GEO_TYPES.get(type) ?? type);
    switch (name) {
      case 'LowCardinality':
        this.step(8);
        return;
      case 'JSON':
      case 'Object':
        if (this.uint64() !== JSON_AS_TEXT) {
          refuseType(type);
        }
        return;
      case 'SimpleAggregateFunction':
        this.skipPrefix(parts.at(-1) ?? '');
        return;
      case 'Array':
      case 'Nullable':
      case 'Map':
      case 'Tuple':
      case 'Nested':
        parts.forEach((part) => this.skipPrefix(elementType(part)));
        return;
      default:
    }
  }

  private skipValues(type: string, rows: number): void {
    if (rows === 0) {
      return;
    }
    const parsed = parseNativeType(GEO_TYPES.get(type) ?? type);
    const bytes = bytesOfValue(parsed);
    if (bytes === undefined) {
      this.skipVaryingValues(type, parsed, rows);
    } else {
      this.step(rows * bytes);
    }
  }

  private skipVaryingValues(type: string, { name, parts }: NativeType, rows: number): void {
    switch (name) {
      case 'String':
      case 'JSON':
      case 'Object':
        this.skipTexts(rows);
        return;
      case 'Nullable':
        this.step(rows);
        this.skipValues(parts[0] ?? '', rows);
        return;
      case 'LowCardinality':
        this.skipDictionary(parts[0] ?? '');
        return;
      case 'SimpleAggregateFunction':
        this.skipValues(parts.at(-1) ?? '', rows);
        return;
      case 'Array':
      case 'Map':
      case 'Nested': {
        // The end offset of each row's values; the last offset is the number of values.
        this.step(rows * 8);
        const values = Number(this.bytes.readBigUInt64LE(this.at - 8));
        parts.forEach((part) => this.skipValues(elementType(part), values));
        return;
      }
      case 'Tuple':
        this.step(parts.length === 0 ? rows : 0);
        parts.forEach((part) => this.skipValues(elementType(part), rows));
        return;
      default:
        refuseType(type);
    }
  }

  private skipTexts(rows: number): void {
    for (let row = 0; row < rows; row++) {
      this.step(this.varint());
    }
  }

  /** Skips the distinct values of a column, and the index of the value for each row. */
  private skipDictionary(type: string): void {
    const { name, parts } = parseNativeType(type);
    const indexBytes = 1 << Number(this.uint64() & 0xffn);
    this.skipValues(name === 'Nullable' ? (parts[0] ?? '') : type, Number(this.uint64()));
    this.step(Number(this.uint64()) * indexBytes);
  }
}

/**
 * Converts the first block in `bytes` for a client of the revision. Returns the parts of the new block and the length of
 * the original one.
 */
function revisedBlock(bytes: Buffer, revision: number): { parts: Buffer[]; length: number } {
  const reader = new NativeReader(bytes);
  const parts: Buffer[] = revision >= BLOCK_INFO_REVISION ? [BLOCK_INFO] : [];
  let from = 0;
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
    reader.skipColumn(type, rows);
  }
  parts.push(bytes.subarray(from, reader.at));
  return { parts, length: reader.at };
}

/**
 * Converts blocks in the Native format of files for a client of the protocol `revision` (0: no change). A block may arrive
 * in several chunks. Throws `EngineError` NOT_IMPLEMENTED for a column whose type has an unknown byte format.
 */
export async function* atRevision(
  native: AsyncIterable<Uint8Array>,
  revision: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of native) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    const parts: Buffer[] = [];
    try {
      while (rest.length > 0) {
        const block = revisedBlock(rest, revision);
        parts.push(...block.parts);
        rest = rest.subarray(block.length);
      }
    } catch (error) {
      // A RangeError means that the bytes end within a block, so the next chunk is needed.
      if (!(error instanceof RangeError)) {
        throw error;
      }
    }
    if (parts.length > 0) {
      yield Buffer.concat(parts);
    }
  }
  if (rest.length > 0) {
    throw new EngineError('INCORRECT_DATA', 'The reply of the engine ends within a block');
  }
}

/** Name of a type and the types or numbers in its brackets: `Map(String, UInt8)` is Map of [String, UInt8]. */
export interface NativeType {
  readonly name: string;
  readonly parts: readonly string[];
}

const OPEN = '([{';
const CLOSE = ')]}';

/** Returns the index after a quoted text that opens at `start`. Quotes inside it are escaped by a backslash or doubled. */
function endOfQuoted(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') {
      at++;
    } else if (text[at] === text[start]) {
      return at;
    }
  }
  return text.length;
}

/** Splits at commas outside brackets and quotes. */
function splitParts(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "'" || character === '`' || character === '"') {
      at = endOfQuoted(text, at);
    } else if (OPEN.includes(character)) {
      depth++;
    } else if (CLOSE.includes(character)) {
      depth--;
    } else if (character === ',' && depth === 0) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  const last = text.slice(from).trim();
  return last === '' ? parts : [...parts, last];
}

/** Parses the text of a type. Throws `EngineError` INCORRECT_DATA for text that is no type. */
export function parseNativeType(text: string): NativeType {
  const parsed = /^(\w+)(?:\((.*)\))?$/su.exec(text.trim());
  if (parsed?.[1] === undefined) {
    throw new EngineError('INCORRECT_DATA', `'${text}' is not a type of a column`);
  }
  return { name: parsed[1], parts: splitParts(parsed[2] ?? '') };
}

/** Returns the type of a tuple's element, which may have a name before it: `a UInt8`, `` `b c` Map(String, String)``. */
export function elementType(element: string): string {
  const named = /^(?:`(?:[^`\\]|\\.)*`|\w+)\s+(?=\w)(.*)$/su.exec(element);
  return named?.[1] ?? element;
}
