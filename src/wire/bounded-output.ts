import { InvalidInputError } from '../domain/errors.ts';

/** Output of a decompressor. It grows as needed, up to `maxBytes`. */
export class BoundedOutput {
  #bytes: Buffer;
  #length = 0;
  readonly #maxBytes: number;

  constructor(expectedBytes: number, maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(64, Math.min(expectedBytes, maxBytes)));
  }

  get length(): number {
    return this.#length;
  }

  /** Appends bytes of the source. */
  literal(source: Buffer, start: number, end: number): void {
    if (end > source.length || end < start) {
      throw new InvalidInputError('compressed data ends too early');
    }
    this.#reserve(end - start);
    source.copy(this.#bytes, this.#length, start, end);
    this.#length += end - start;
  }

  /** Repeats `size` bytes from `distance` bytes back; the two ranges may overlap. */
  repeat(distance: number, size: number): void {
    if (distance === 0 || distance > this.#length) {
      throw new InvalidInputError('compressed data refers to bytes before its beginning');
    }
    this.#reserve(size);
    const end = this.#length + size;
    while (this.#length < end) {
      const from = this.#length - Math.min(distance, this.#length);
      const count = Math.min(distance, end - this.#length);
      this.#bytes.copyWithin(this.#length, from, from + count);
      this.#length += count;
    }
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed > this.#maxBytes) {
      throw new InvalidInputError(`compressed data has more than ${this.#maxBytes} bytes`);
    }
    if (needed > this.#bytes.length) {
      const size = Math.min(this.#maxBytes, Math.max(needed, this.#bytes.length * 2));
      const grown = Buffer.allocUnsafeSlow(size);
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
  }
}
