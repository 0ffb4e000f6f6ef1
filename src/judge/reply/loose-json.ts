/** Deepest nesting that is read. */
const MAX_DEPTH = 100;

const WORDS = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['True', true],
  ['False', false],
  ['None', null],
]);
const WORD = /[A-Za-z]+/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const BLANKS = /\s*/y;
/** A string in double or single quotes; line breaks may stand in it as they are. */
const STRING = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"|'[^'\\]*(?:\\[\s\S][^'\\]*)*'/y;
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\s\S]))/g;
const ESCAPED = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['b', '\b'],
  ['f', '\f'],
  ...['"', "'", '\\', '/'].map((char) => [char, char] as const),
]);

/** Reports a text that has no reading, or more than one. */
class NoReading extends Error {}

/**
 * Parses JSON as models write it: with a comma before a closing bracket, line breaks in strings, or as a literal of Python.
 * Undefined for a text that has no such reading or two of them: one that is cut, or an object with a name twice. Own code,
 * because libraries that mend JSON guess: they close a reply that was cut off.
 */
export function parseLooseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: new LooseReader(text).read() };
  } catch (error) {
    if (error instanceof NoReading) {
      return undefined;
    }
    throw error;
  }
}

class LooseReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): unknown {
    const value = this.#value(0);
    this.#take(BLANKS);
    if (this.#at < this.#text.length) {
      throw new NoReading();
    }
    return value;
  }

  #value(depth: number): unknown {
    this.#take(BLANKS);
    switch (depth > MAX_DEPTH ? '' : (this.#text[this.#at] ?? '')) {
      case '{':
        return this.#object(depth + 1);
      case '[':
        return this.#list(depth + 1);
      case '"':
      case "'":
        return this.#string();
      default:
        return this.#scalar();
    }
  }

  #object(depth: number): object {
    const members = new Map<string, unknown>();
    this.#members('}', () => {
      const name = this.#string();
      this.#expect(':');
      if (members.has(name)) {
        throw new NoReading();
      }
      members.set(name, this.#value(depth));
    });
    return Object.fromEntries(members);
  }

  #list(depth: number): unknown[] {
    const items: unknown[] = [];
    this.#members(']', () => items.push(this.#value(depth)));
    return items;
  }

  /** Reads the members of an object or a list, from its opening bracket to its closing one. */
  #members(closing: string, readOne: () => void): void {
    this.#at += 1;
    while (!this.#skip(closing)) {
      readOne();
      if (!this.#skip(',')) {
        this.#expect(closing);
        return;
      }
    }
  }

  #string(): string {
    this.#take(BLANKS);
    const quoted = this.#take(STRING);
    return quoted.slice(1, -1).replaceAll(ESCAPE, (_all, unicode?: string, hex?: string, char = '') => {
      const code = unicode ?? hex;
      const plain = code === undefined ? ESCAPED.get(char) : String.fromCharCode(Number.parseInt(code, 16));
      if (plain === undefined) {
        throw new NoReading();
      }
      return plain;
    });
  }

  #scalar(): unknown {
    const char = this.#text[this.#at] ?? '';
    if (/[-\d]/.test(char)) {
      return Number(this.#take(NUMBER));
    }
    const word = this.#take(WORD);
    if (!WORDS.has(word)) {
      throw new NoReading();
    }
    return WORDS.get(word);
  }

  #expect(char: string): void {
    if (!this.#skip(char)) {
      throw new NoReading();
    }
  }

  #skip(char: string): boolean {
    this.#take(BLANKS);
    const isThere = this.#text[this.#at] === char;
    this.#at += isThere ? 1 : 0;
    return isThere;
  }

  /** Takes what matches here. Throws `NoReading` when nothing does. */
  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) {
      throw new NoReading();
    }
    this.#at += found.length;
    return found;
  }
}
