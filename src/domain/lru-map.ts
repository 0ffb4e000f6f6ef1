interface Limits {
  readonly maxEntries?: number;
  /** Largest sum of the sizes of all values. */
  readonly maxSize: number;
}

/** Map of limited size: what was used least recently goes first. A value that is larger than the limit is not kept. */
export class LruMap<Value> {
  readonly #limits: Limits;
  readonly #sizeOf: (value: Value) => number;
  readonly #entries = new Map<string, Value>();
  #size = 0;

  constructor(limits: Limits, sizeOf: (value: Value) => number) {
    this.#limits = limits;
    this.#sizeOf = sizeOf;
  }

  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }

  set(key: string, value: Value): void {
    const { maxEntries = Infinity, maxSize } = this.#limits;
    this.delete(key);
    if (this.#sizeOf(value) > maxSize) {
      return;
    }
    this.#entries.set(key, value);
    this.#size += this.#sizeOf(value);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries && this.#size <= maxSize) {
        return;
      }
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const value = this.#entries.get(key);
    if (value !== undefined) {
      this.#entries.delete(key);
      this.#size -= this.#sizeOf(value);
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#size = 0;
  }
}
