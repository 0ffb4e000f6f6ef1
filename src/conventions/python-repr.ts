import { MAX_JSON_DEPTH } from './json.ts';

/** Longest text that is parsed, in UTF-16 units; a longer one stays text. */
const MAX_REPR_CHARS = 16 * 1024 * 1024;

/** Name of the field that holds the class of a printed object. */
export const REPR_TYPE = '$type';

const CONSTANTS = new Map<string, unknown>(
  Object.entries({ True: true, False: false, None: null, nan: null, inf: null }),
);
const ESCAPES = new Map(Object.entries({ n: '\n', t: '\t', r: '\r', 0: '\0' }));
const CLOSERS = new Map(Object.entries({ '[': ']', '(': ')', '{': '}', '<': '>' }));

const WORD = /[A-Za-z_][\w.]*/y;
const NUMBER = /[-+]?\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?/y;
const BLANKS = /[\s,]*/y;

/** An open bracket with the values in it so far. */
interface Frame {
  closer: string;
  /** The name in `Name(…)`. */
  type: string | undefined;
  items: unknown[];
  entries: [string, unknown][];
  /** Key of the next value. */
  key: string | undefined;
}

/**
 * Parses Python's `repr` of a value: literals, lists, tuples, dictionaries, objects as `Name(field=value)` (the name under
 * `$type`) and enumerations as their value. Undefined for any other text. Linear, without recursion.
 */
export function parsePythonRepr(text: string): unknown {
  return text.length > MAX_REPR_CHARS ? undefined : new ReprReader(text).read();
}

class ReprReader {
  readonly #text: string;
  readonly #stack: Frame[] = [{ closer: '', type: undefined, items: [], entries: [], key: undefined }];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): unknown {
    this.#take(BLANKS);
    while (this.#at < this.#text.length) {
      if (!this.#step() || this.#stack.length > MAX_JSON_DEPTH) {
        return undefined;
      }
      this.#take(BLANKS);
    }
    const [root] = this.#stack;
    return this.#stack.length === 1 && root?.items.length === 1 ? root.items[0] : undefined;
  }

  /** Reads one token; returns false when there is none. */
  #step(): boolean {
    const char = this.#text[this.#at] ?? '';
    const frame = this.#stack.at(-1);
    if (frame === undefined) {
      return false;
    }
    if (char === frame.closer && char !== '') {
      this.#at++;
      return this.#close();
    }
    if (char === ':' || char === '=') {
      this.#at++;
      return nameLast(frame);
    }
    if (CLOSERS.has(char)) {
      this.#at++;
      this.#open(char, undefined);
      return true;
    }
    return char === "'" || char === '"' ? this.#string(char) : this.#wordOrNumber();
  }

  #open(bracket: string, type: string | undefined): void {
    this.#stack.push({ closer: CLOSERS.get(bracket) ?? '', type, items: [], entries: [], key: undefined });
  }

  #close(): boolean {
    const frame = this.#stack.pop();
    if (frame === undefined || frame.key !== undefined) {
      return false;
    }
    return this.#give(readValue(frame));
  }

  #give(value: unknown): boolean {
    const frame = this.#stack.at(-1);
    if (frame?.key !== undefined) {
      frame.entries.push([frame.key, value]);
      frame.key = undefined;
    } else {
      frame?.items.push(value);
    }
    return true;
  }

  #wordOrNumber(): boolean {
    const number = this.#take(NUMBER);
    if (number !== '') {
      return this.#give(Number(number.replaceAll('_', '')));
    }
    const word = this.#take(WORD);
    if (word === '') {
      return false;
    }
    if (this.#text[this.#at] === '(') {
      this.#at++;
      this.#open('(', word);
      return true;
    }
    return this.#give(CONSTANTS.has(word) ? CONSTANTS.get(word) : word);
  }

  #string(quote: string): boolean {
    const pieces: string[] = [];
    let start = ++this.#at;
    for (let i = start; i < this.#text.length; i++) {
      const char = this.#text[i];
      if (char === quote) {
        pieces.push(this.#text.slice(start, i));
        this.#at = i + 1;
        return this.#give(pieces.join(''));
      }
      if (char === '\\') {
        pieces.push(this.#text.slice(start, i));
        const { value, length } = escapeAt(this.#text, i + 1);
        pieces.push(value);
        i += length;
        start = i + 1;
      }
    }
    return false;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }
}

/** Uses the text before a colon or an equals sign as the name of the next value. */
function nameLast(frame: Frame): boolean {
  const name = frame.items.pop();
  if (
    frame.closer === '' ||
    frame.key !== undefined ||
    (typeof name !== 'string' && typeof name !== 'number')
  ) {
    return false;
  }
  frame.key = String(name);
  return true;
}

function readValue({ closer, type, items, entries }: Frame): unknown {
  if (type !== undefined) {
    return Object.fromEntries([[REPR_TYPE, type], ...entries, ...items.map((item, index) => [index, item])]);
  }
  if (closer === '>') {
    return entries[0]?.[1] ?? items[0];
  }
  return closer === '}' && items.length === 0 ? Object.fromEntries(entries) : items;
}

/** Returns the character of an escape, and its number of characters after the backslash. */
function escapeAt(text: string, at: number): { value: string; length: number } {
  const char = text[at] ?? '';
  const digits = char === 'x' ? 2 : char === 'u' ? 4 : char === 'U' ? 8 : 0;
  const code = Number.parseInt(text.slice(at + 1, at + 1 + digits), 16);
  if (digits > 0 && code <= 0x10_ff_ff) {
    return { value: String.fromCodePoint(code), length: 1 + digits };
  }
  return { value: ESCAPES.get(char) ?? char, length: 1 };
}
