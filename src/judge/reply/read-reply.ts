import type { SchemaVerdict } from './judge-schema.ts';

/** Marks behind which a model's answer begins; each ends its thoughts. The opening mark may stand in the prompt of a template. */
const ENDS_OF_THOUGHTS =
  /<\/(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)>|\[\/THINK\]|◁\/think▷|<\|(?:end_of_thought|END_THINKING)\|>/gi;

const BEGIN_OF_THOUGHTS =
  /^\s*(?:<(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)>|\[THINK\]|◁think▷|<\|(?:begin_of_thought|START_THINKING)\|>)/i;

/** Begin of the answer of gpt-oss; servers that drop its special tokens leave the words of them. */
const FINAL_CHANNEL = /<\|channel\|>\s*final\b[^{[]{0,60}?<\|message\|>|^\s*analysis[\s\S]*?assistantfinal/gi;

const OTHER_CHANNEL = /<\|channel\|>\s*(?:analysis|commentary)\b/i;

/** Special tokens around an answer that a server left in its text. */
const SPECIAL_TOKENS =
  /^\s*<\|START_RESPONSE\|>|(?:<\|(?:end|return|im_end|eot_id|endoftext|END_RESPONSE)\|>|<\/s>)\s*$/gi;

/** Longest lead-in line before an answer, characters. */
const MAX_LEAD_IN_CHARS = 200;

/** Words of a line that announces no verdict of its own. The check against the material holds in every language. */
const NO_LEAD_IN = /\b(?:quot|draft|example|cannot\b|can't|unable|refus|tries\b|tried\b|attempt|inject)/i;

const FENCE = '```';

/**
 * Reads the answer from a reply: one JSON value that stands alone, apart from thoughts, a code fence and one lead-in line. JSON
 * inside other text is no answer, because it may be a quotation of the judged text.
 * @param material the question; JSON of it behind a lead-in line is a quotation
 */
export function readJsonReply<T>(
  reply: string,
  validate: (value: unknown) => SchemaVerdict<T>,
  material = '',
): SchemaVerdict<T> {
  const text = reply.trim();
  // Tried first: a verdict may quote marks of thoughts.
  const whole = parse(text);
  if (whole !== undefined) {
    return validate(whole.value);
  }
  const answer = withoutThoughts(text);
  if (answer === '') {
    return { ok: false, fault: text === '' ? 'it is empty' : 'it holds thoughts and no answer' };
  }
  const alone = parse(withoutFence(answer)) ?? parseAfterLeadIn(answer, material);
  return alone === undefined
    ? { ok: false, fault: 'it is not one complete JSON value that stands alone' }
    : validate(alone.value);
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return parseLooseJson(text);
  }
}

/** Removes a code fence around an answer; a server may have cut off one of its ends as a stop mark. */
function withoutFence(text: string): string {
  const opened = text.replace(/^```(?:[\w-]*\s|(?=[{[]))/, '');
  return opened.endsWith(FENCE) ? opened.slice(0, -FENCE.length) : opened;
}

function parseAfterLeadIn(answer: string, material: string): { readonly value: unknown } | undefined {
  const [line = ''] = answer.split('\n', 1);
  const rest = withoutFence(answer.slice(line.length).trim());
  const isLeadIn = line.length <= MAX_LEAD_IN_CHARS && !NO_LEAD_IN.test(line) && !/[{[]/.test(line);
  return isLeadIn && !simplify(material).includes(simplify(rest)) ? parse(rest) : undefined;
}

/** Drops white space, quotes and escapes, which differ between a text and its quotation. */
function simplify(text: string): string {
  return text.replaceAll(/\\+[nrt]|[\s\\"'`]/g, '');
}

/**
 * Removes a model's thoughts from its reply; they may contain drafts of the answer. All up to the last closing mark is thought.
 * Thoughts that do not end leave an empty answer.
 */
export function withoutThoughts(reply: string): string {
  const final = cutUpTo(reply, FINAL_CHANNEL);
  if (final === undefined && OTHER_CHANNEL.test(reply)) {
    return '';
  }
  const said = final ?? reply;
  const answer = cutUpTo(said, ENDS_OF_THOUGHTS) ?? said;
  return BEGIN_OF_THOUGHTS.test(answer) ? '' : answer.replaceAll(SPECIAL_TOKENS, '').trim();
}

/** Returns what follows the last match; undefined without a match. */
function cutUpTo(text: string, mark: RegExp): string | undefined {
  const last = [...text.matchAll(mark)].at(-1);
  return last === undefined ? undefined : text.slice(last.index + last[0].length);
}

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
