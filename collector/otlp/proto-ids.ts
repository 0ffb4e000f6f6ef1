import { InvalidInputError } from '../../src/domain/errors.ts';
import type { RowWriter } from '../../src/store/contracts/rows/row-binary.ts';

const HEX = Buffer.from('0123456789abcdef');

/** True for an id of the right length that is not all zero; false for an absent or all-zero id. Throws for any other id. */
export function hasId(bytes: Buffer, start: number, end: number, size: number, name: string): boolean {
  if (end === start) {
    return false;
  }
  if (end - start !== size) {
    throw new InvalidInputError(`${name} has ${end - start} bytes; it must have ${size}`);
  }
  for (let i = start; i < end; i++) {
    if (bytes[i] !== 0) {
      return true;
    }
  }
  return false;
}

export function requireId(bytes: Buffer, start: number, end: number, size: number, name: string): void {
  if (!hasId(bytes, start, end, size, name)) {
    throw new InvalidInputError(`${name} is missing or all zero; it must have ${size} bytes`);
  }
}

/** Writes an id as a string of lower-case hex digits. */
export function writeHexId(bytes: Buffer, writer: RowWriter, start: number, end: number): void {
  const digits = (end - start) * 2;
  writer.reserve(digits + 1);
  const out = writer.bytes;
  let at = writer.length;
  out[at++] = digits;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    out[at++] = HEX[byte >>> 4] as number;
    out[at++] = HEX[byte & 15] as number;
  }
  writer.length = at;
}
