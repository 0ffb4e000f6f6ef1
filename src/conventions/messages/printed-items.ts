import { type Fields, MAX_JSON_DEPTH, structureIn } from '../json.ts';
import { callPart, reasoningPart, textPart } from './part-reader.ts';
import type { NormalPart } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Classes of the items of OpenAI's SDK for Python. */
const ITEM_CLASS = /^Response[A-Z]\w*\(/;
const DICTIONARY = /^\s*\{\s*'/;
/** LangChain's message of a tool, which Python prints without its class. */
const TOOL_MESSAGE = /^content=[^]* tool_call_id='/;

/** Reads a Responses item that Python printed as `ResponseFunctionToolCall(name='…', …)`; undefined for any other text. */
export function readPrintedItem(text: string): Fields | undefined {
  const item = ITEM_CLASS.test(text) ? withoutClasses(parsePythonRepr(text)) : undefined;
  return isRecord(item) && typeof item['type'] === 'string' ? item : undefined;
}

/** An object as Python's `repr` prints it, and one as Pydantic's `str` does. */
const OBJECT = /^[A-Za-z_][\w.]*\(\w+=/;
const OBJECT_FIELDS = /^(role|content|type|name|id|text)=['"]/;
/** An object whose class has a name of several words, or one with another object in it: no sentence, also when it was cut off. */
const CUT_OBJECT = /^(?:[A-Z]+[a-z0-9]+){2,}\(\w+=|^[A-Z]\w*\(\w+=[[({]*[A-Z]\w*\(/;

/** Reads an object that Python printed; null for one that was cut off, undefined for any other text. */
export function readPrintedObject(text: string): Fields | null | undefined {
  const printed = OBJECT.test(text) ? text : OBJECT_FIELDS.test(text) ? `Printed(${text})` : undefined;
  const object = printed === undefined ? undefined : withoutClasses(parsePythonRepr(printed));
  return isRecord(object) ? object : CUT_OBJECT.test(text) ? null : undefined;
}

/** Reads what Python printed in brackets, without the names of classes; undefined for any other text. */
export function readPrinted(text: string): unknown {
  return withoutClasses(parsePythonRepr(text));
}

/** Removes the names of classes and the underscores of private fields: the fields of an item are as in JSON. */
function withoutClasses(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(withoutClasses);
  }
  return isRecord(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([key, inner]) =>
          key === REPR_TYPE ? [] : [[key.replace(/^_/, ''), withoutClasses(inner)]],
        ),
      )
    : value;
}

/** Reads a message that Python printed as a dictionary with a role. */
export function readPrintedMessage(text: string): Fields | undefined {
  const message = DICTIONARY.test(text) ? parsePythonRepr(text) : undefined;
  return isRecord(message) && typeof message['role'] === 'string' ? message : undefined;
}

/** Reads LangChain's message of a tool that Python printed as its fields; undefined for any other value. */
export function readPrintedToolMessage(value: unknown): Fields | undefined {
  const isPrinted = typeof value === 'string' && TOOL_MESSAGE.test(value);
  const message = isPrinted ? parsePythonRepr(`ToolMessage(${value})`) : undefined;
  return isRecord(message) ? { ...message, type: 'tool' } : undefined;
}

/** Parses a dictionary that Python printed, as LangChain hands arguments to callbacks. Any other value stays as it is. */
export function openPrintedArguments(value: unknown): unknown {
  const printed = typeof value === 'string' && DICTIONARY.test(value) ? parsePythonRepr(value) : undefined;
  return isRecord(printed) ? printed : value;
}

const HEADING = /^\[\[ ## (\w+) ## \]\]$/;

const THOUGHTS = new Set(['next_thought', 'reasoning', 'rationale']);

/** Reads the output of a model that DSPy made answer in fields with headings, as thoughts, tool calls and answer. */
export function readDspyText(parts: NormalPart[]): NormalPart[] {
  const [only] = parts;
  if (parts.length !== 1 || only?.type !== 'text' || !only.text.trimStart().startsWith('[[ ## ')) {
    return parts;
  }
  const fields = fieldsIn(only.text);
  const tool = fields.get('next_tool_name');
  const args = fields.get('next_tool_args');
  const called =
    tool === undefined ? [] : [callPart({ id: null, name: tool, args: structureIn(args) ?? {} })];
  const thoughts = [...fields].filter(([name]) => THOUGHTS.has(name));
  const rest = [...fields].filter(([name]) => !THOUGHTS.has(name) && !/^(next_tool_|completed$)/.test(name));
  return [
    ...thoughts.flatMap(([, text]) => reasoningPart(text)),
    ...called,
    ...textPart(rest.map(([, text]) => text).join('\n')),
  ];
}

function fieldsIn(text: string): Map<string, string> {
  const fields = new Map<string, string[]>();
  let lines: string[] = [];
  for (const line of text.split('\n')) {
    const name = HEADING.exec(line.trim())?.[1];
    if (name === undefined) {
      lines.push(line);
    } else {
      lines = [];
      fields.set(name, lines);
    }
  }
  return new Map([...fields].map(([name, content]) => [name, content.join('\n').trim()]));
}

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
  key: string | undefined;
}

/** Parses Python's `repr`: literals, collections, `Name(field=value)` (name under `$type`), enumerations as values; else undefined. Linear. */
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
