import { isObject } from '../../domain/unknown-values.ts';
import { composeText } from './texts.ts';

/** Least letters and digits of a quote that counts wherever it stands; a shorter one must be a whole word or number. */
export const MIN_QUOTE_CHARS = 3;
/** Longest quote that may contain copying errors. */
const MAX_SLIPPING_CHARS = 240;
/** Characters for each allowed copying error, and most errors in all. */
const CHARS_PER_SLIP = 24;
const MAX_SLIPS = 3;
/** Most places that are compared for each piece of a quote. */
const MAX_PLACES = 6;

/** Most records of a source that are looked at for a quote that leaves cells or keys out, and how deep their objects may be. */
const MAX_RECORDS = 20_000;
const MAX_DEPTH = 20;

/** Values without letters and digits that are quotes, too. */
const EMPTY_VALUE = /^(?:\[\s*\]|\{\s*\}|""|'')$/;
/** Scripts without spaces between words, in which a word of one or two characters has no bounds. */
const UNSPACED =
  /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー]/u;
/** Marks that texts may leave out: vowels of Hebrew and Arabic. */
const VOWEL_MARKS = /[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670]/g;
const LINK = /(\[[^[\]]*\])\([^()\s]*(?:\s+"[^"]*")?\)/g;
/** Parts of a quote that are searched alone: it may leave words out, and a redacted value stands for any. */
const GAPS = /…|\.{3,}|\[[A-Z][A-Z0-9_]*_\d{1,9}\]/u;
/** Bounds of the cells of a table and of the members of an object. */
const CELLS = /[|\t]|[,;](?!\d)/;

/** A text in which quotes are searched. */
export interface Quotable {
  readonly raw: string;
  /** The text in its `comparable` form, as it stands and without the addresses of its links. */
  readonly forms: readonly string[];
  /** Lists the rows and objects of the text, each as its cells and members. */
  readonly records: () => readonly (readonly string[])[];
}

/** Prepares a text for the search of quotes. */
export function quotable(raw: string): Quotable {
  const unlinked = raw.replace(LINK, '$1');
  let records: string[][] | undefined;
  return {
    raw,
    forms: (unlinked === raw ? [raw] : [raw, unlinked]).map(comparable),
    records: () => (records ??= listRecords(raw)),
  };
}

/**
 * Normalises everything that copying may change: case, width of characters, punctuation, spacing, escapes of JSON and HTML, vowel
 * marks. The point of a number stays.
 */
export function comparable(text: string): string {
  return composeText(unescapeText(text), 'NFKC')
    .toLowerCase()
    .replace(VOWEL_MARKS, '')
    .replace(/(?<=\p{N})\.(?=\p{N})/gu, '\u0000')
    .replace(/[^\p{L}\p{M}\p{N}\0]+/gu, ' ')
    .replaceAll('\u0000', '.')
    .trim();
}

/** Named entities of letters: their accents as combining marks. Other named entities are punctuation. */
const ACCENTS: Record<string, string> = {
  acute: '\u0301',
  grave: '\u0300',
  circ: '\u0302',
  tilde: '\u0303',
  uml: '\u0308',
  ring: '\u030a',
  cedil: '\u0327',
};

function unescapeText(text: string): string {
  const unescaped = text.includes('\\')
    ? text
        .replace(/\\u([\da-f]{4})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
        .replace(/\\[nrt"'/\\]/g, ' ')
    : text;
  return unescaped.includes('&')
    ? unescaped
        .replace(
          /&#(?:x([\da-f]{1,6})|(\d{1,7}));/gi,
          (all, hex?: string, digits?: string) =>
            characterOf(hex === undefined ? Number(digits) : Number.parseInt(hex, 16)) ?? all,
        )
        .replace(/&([a-z])([a-z]{3,5});/gi, (all, letter: string, accent: string) => {
          const mark = ACCENTS[accent];
          return mark === undefined ? all : letter + mark;
        })
        .replace(/&(?:amp|lt|gt|quot|apos|nbsp|ndash|mdash|hellip|[lr][sd]quo);/gi, ' ')
    : unescaped;
}

function characterOf(code: number): string | undefined {
  return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : undefined;
}

/**
 * True when a source contains a quote: letter by letter, or with a few copying errors, but never inside a number. The text around an
 * ellipsis is searched piece by piece, as are lines; cells of a row and members of an object may be left out between others.
 */
export function isQuotedIn(quote: string, source: Quotable): boolean {
  const trimmed = quote.trim();
  if (EMPTY_VALUE.test(trimmed)) {
    return source.raw.includes(trimmed);
  }
  return source.forms.some((form) => areFound(trimmed.split(GAPS), form)) || isQuotedByLines(trimmed, source);
}

function areFound(texts: readonly string[], form: string): boolean {
  const pieces = texts.map(comparable).filter(Boolean);
  if (pieces.join('').length < MIN_QUOTE_CHARS) {
    return pieces.length === 1 && isWholeWord(pieces[0] as string, form);
  }
  return (
    pieces.length > 0 && pieces.every((piece) => isQuoted(piece, form) || isQuotedWithSlips(piece, form))
  );
}

/** True for a short quote that stands by itself. One letter shows nothing, but where it is a word. */
function isWholeWord(word: string, form: string): boolean {
  if (UNSPACED.test(word)) {
    return form.includes(word);
  }
  return form === word || (/\p{N}|../u.test(word) && ` ${form} `.includes(` ${word} `));
}

function isQuotedByLines(quote: string, source: Quotable): boolean {
  const lines = quote.split('\n').filter((line) => comparable(line) !== '');
  return (
    lines.length > 0 &&
    lines.every(
      (line) =>
        (lines.length > 1 && source.forms.some((form) => areFound([line], form))) ||
        isOfOneRecord(line, source),
    )
  );
}

/** True when the cells or members of a line stand in one row or object, in its order. */
function isOfOneRecord(line: string, source: Quotable): boolean {
  const cells = line.split(CELLS).map(comparable).filter(Boolean);
  return (
    cells.length > 1 &&
    source.records().some((record) => {
      let at = 0;
      return cells.every((cell) => {
        const found = record.indexOf(cell, at);
        at = found + 1;
        return found >= 0;
      });
    })
  );
}

function listRecords(raw: string): string[][] {
  const records: string[][] = [];
  const parsed = parseJson(raw);
  if (parsed !== undefined) {
    addObjects(parsed, records, 0);
    return records;
  }
  for (const line of raw.split('\n').slice(0, MAX_RECORDS)) {
    const cells = line.split(CELLS).map(comparable).filter(Boolean);
    if (cells.length > 2) {
      records.push(cells);
    }
  }
  return records;
}

function parseJson(raw: string): unknown {
  if (!/^\s*[[{]/.test(raw)) {
    return undefined;
  }
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}

/** Adds each object as its members. Objects inside of it are a part of it, lists of objects are not. */
function addObjects(value: unknown, records: string[][], depth: number): string[] {
  if (depth > MAX_DEPTH || records.length >= MAX_RECORDS) {
    return [];
  }
  if (Array.isArray(value)) {
    for (const item of value) {
      addObjects(item, records, depth + 1);
    }
    return [];
  }
  if (!isObject(value)) {
    return [];
  }
  const members = Object.entries(value).flatMap(([key, held]) =>
    isObject(held) || Array.isArray(held)
      ? addObjects(held, records, depth + 1)
      : [comparable(`${key} ${String(held)}`)],
  );
  records.push(members);
  return members;
}

function isQuoted(piece: string, source: string): boolean {
  for (let at = source.indexOf(piece); at >= 0; at = source.indexOf(piece, at + 1)) {
    const cutsNumber =
      (isDigit(piece[0]) && isInNumber(source[at - 1])) ||
      (isDigit(piece.at(-1)) && isInNumber(source[at + piece.length]));
    if (!cutsNumber) {
      return true;
    }
  }
  return false;
}

/**
 * Searches a piece with errors. With at most k errors, one of k + 1 parts of the piece has none; only the places around such
 * parts are compared.
 */
function isQuotedWithSlips(piece: string, source: string): boolean {
  const slips = Math.min(MAX_SLIPS, Math.floor(piece.length / CHARS_PER_SLIP));
  if (slips === 0 || piece.length > MAX_SLIPPING_CHARS) {
    return false;
  }
  const partLength = Math.floor(piece.length / (slips + 1));
  for (let part = 0; part <= slips; part += 1) {
    const offset = part * partLength;
    const seed = piece.slice(offset, offset + partLength);
    let at = source.indexOf(seed);
    for (let place = 0; at >= 0 && place < MAX_PLACES; place += 1) {
      const start = Math.max(0, at - offset - slips);
      const around = source.slice(start, at - offset + piece.length + slips);
      if (hasSameNumbers(piece, around) && countSlips(piece, around) <= slips) {
        return true;
      }
      at = source.indexOf(seed, at + 1);
    }
  }
  return false;
}

function hasSameNumbers(piece: string, text: string): boolean {
  const numbers = new Set(text.match(/\p{N}+/gu));
  return (piece.match(/\p{N}+/gu) ?? []).every((number) => numbers.has(number));
}

/** Counts the fewest insertions, deletions and replacements that turn the piece into a part of the text. */
function countSlips(piece: string, text: string): number {
  let row = Array.from({ length: text.length + 1 }, () => 0);
  for (let i = 1; i <= piece.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= text.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (piece[i - 1] === text[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return Math.min(...row);
}

/** True for a digit, and for the point of a number: `comparable` leaves no other point. */
function isInNumber(char: string | undefined): boolean {
  return char === '.' || isDigit(char);
}

function isDigit(char: string | undefined): boolean {
  return char !== undefined && /\p{N}/u.test(char);
}
