import { LOG_COLUMNS, SPAN_COLUMNS } from '../contracts/rows.ts';
import type { QueryParams } from '../values.ts';

/** Columns of ids that no sender gives to a person. */
const IDS: ReadonlySet<string> = new Set([
  'TraceId',
  'SpanId',
  'ParentSpanId',
  'Links.TraceId',
  'Links.SpanId',
  'Tenant',
]);

/** Returns SQL for all texts of a row: also names of attributes, which may be ids of people. */
function listTexts(columns: readonly (readonly [name: string, type: string])[]): string {
  const lists = columns
    .filter(([name, type]) => type.includes('String') && !IDS.has(name))
    .map(([name, type]) => {
      const column = `\`${name}\``;
      const ofMap = (map: string) => `arrayConcat(mapKeys(${map}), mapValues(${map}))`;
      if (type.startsWith('Array(Map')) {
        return `arrayFlatten(arrayMap(each -> ${ofMap('each')}, ${column}))`;
      }
      return type.startsWith('Array') ? column : type.startsWith('Map') ? ofMap(column) : `[${column}]`;
    });
  return `arrayConcat(${lists.map((list) => `CAST(${list}, 'Array(String)')`).join(', ')})`;
}

/** SQL for all texts of a row, by table. */
export const TEXTS = { otel_traces: listTexts(SPAN_COLUMNS), otel_logs: listTexts(LOG_COLUMNS) } as const;

/** Cheap condition that every text with the id meets: only the part is never escaped, but by its numbers. */
const MAY_HOLD = String.raw`position(text, {part:String}) > 0 OR position(text, '\\u') > 0`;

/** SQL condition: one of `texts` is the id, or names it as a value of JSON or of a URL. It needs `idParams`, like the next ones. */
export const NAMES_ID = `arrayExists(text -> (${MAY_HOLD}) AND match(text, {named:String}), texts)`;

/** SQL condition: the bytes `text` hold the id in any spelling, or as a number of OTLP. */
export const HOLDS_ID = `(((${MAY_HOLD}) AND match(text, {spelled:String}))
  OR ({wire:String} != '' AND position(text, unhex({wire:String})) > 0))`;

/** SQL for the number of `texts` that hold the id as a word only. */
export const MENTIONS_OF_ID = `arrayCount(text -> positionCaseInsensitive(text, {part:String}) > 0
  AND match(text, {plain:String}) AND NOT match(text, {named:String}), texts)`;

/** SQL condition: one of the columns is the id. */
export function isId(columns: readonly string[]): string {
  return `(${columns.map((column) => `${column} IN {forms:Array(String)}`).join(' OR ')})`;
}

/** Returns the parameters of these conditions. */
export function idParams(id: string): QueryParams {
  return { id, forms: listForms(id), ...buildIdExpressions(id) };
}

/** Lists an id as it was typed, and in both normal forms of Unicode: some programs write `é` as one character, others as two. */
function listForms(id: string): string[] {
  return [...new Set([id, id.normalize('NFC'), id.normalize('NFD')])];
}

/** Regular expressions (RE2) that find an id in a text. */
interface IdExpressions {
  /** The id as a value: the whole text, in quotes, a number of JSON, or a parameter of a URL. */
  readonly named: string;
  /** The id anywhere. */
  readonly spelled: string;
  /** The id as a word of any letter case, percent-encoded or not. */
  readonly plain: string;
  /** Longest part of the id that text never escapes but by numbers: looking for it is far cheaper than for the id. */
  readonly part: string;
  /** Bytes, in hex, of an attribute of OTLP that has the id as a number; '' for an id that is none. */
  readonly wire: string;
}

/** Longest id that is searched in every spelling of JSON, characters; a longer one only as it is: statements have a largest size. */
const MAX_SPELT_CHARS = 512;

/** Quotes around a value of JSON, at any depth of JSON in JSON and in URLs; some writers escape quotes by their numbers. */
const QUOTE = String.raw`(?:\\*["']|\\+u002[27]|%(?:25)*2[27])`;
/** Blanks of JSON, which JSON in JSON escapes. */
const BLANKS = String.raw`(?:\s|\\+[nrt])*`;

/**
 * Builds the expressions of an id. JSON may write each character of a text as its number (`\u00fc`, in both letter cases) and some by
 * a backslash (`\/`); JSON in JSON doubles the backslashes. URLs write bytes as `%C3%BC`.
 */
function buildIdExpressions(id: string): IdExpressions {
  const spelled = spell(id, spellInJson);
  const word = spell(id, (char) => `${spellInJson(char)}|${spellInUrl(char)}`);
  const digits = /^-?(0|[1-9]\d*)$/.exec(id)?.[1] ?? '';
  const number = spellNumber(id, spelled, digits);
  const value = String.raw`(?:^${BLANKS}|${QUOTE}|[?&][^=&#\s]*=)${word}(?:${QUOTE}|[&#]|${BLANKS}$)`;
  const numberValue = String.raw`(?:^|[:,\[(])${BLANKS}${number}${BLANKS}(?:[,}\])]|$)`;
  return {
    spelled,
    named: digits === '' ? value : `${value}|${numberValue}`,
    plain: String.raw`(?i)(?:^|[^\pL\pN]|%[0-9a-f]{2}|\\[nrt]|\\u[0-9a-f]{4})${word}(?:[^\pL\pN\pM]|$)`,
    part: digits === '' ? findLongestRun(id) : listLaterDigits(digits),
    wire: digits === '' ? '' : encodeIntValue(BigInt(id)),
  };
}

function findLongestRun(id: string): string {
  const runs = (id.normalize('NFC').match(/[\w.~-]+/g) ?? []).filter((run) => id.includes(run));
  return runs.reduce((longest, run) => (run.length > longest.length ? run : longest), '');
}

/** Returns the digits that a number has behind its point when it is written with an exponent. */
function listLaterDigits(digits: string): string {
  return digits.slice(1).replace(/0+$/, '');
}

/** Spells a whole number as JSON may: `94170001`, `94170001.0`, `9.4170001E7`. */
function spellNumber(id: string, spelled: string, digits: string): string {
  const rest = listLaterDigits(digits);
  const mantissa = `${id.startsWith('-') ? '-' : ''}${digits.slice(0, 1)}${rest === '' ? String.raw`(?:\.0+)?` : String.raw`\.${rest}0*`}`;
  return String.raw`(?:${spelled}(?:\.0+)?|${mantissa}[eE]\+?0*${digits.length - 1})`;
}

/** Least number that is searched in protobuf: the two bytes of a smaller one stand anywhere. */
const LEAST_WIRE = 2n ** 14n;

/** Encodes a number as the member `intValue` of an attribute in protobuf, hex; '' for one that is too small or has more than 64 bits. */
function encodeIntValue(value: bigint): string {
  if (BigInt.asIntN(64, value) !== value || (value >= 0n && value < LEAST_WIRE)) {
    return '';
  }
  const bytes = [0x18];
  let rest = BigInt.asUintN(64, value);
  for (; rest > 0x7fn; rest >>= 7n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
  }
  return Buffer.from([...bytes, Number(rest)]).toString('hex');
}

function spell(id: string, spellings: (char: string) => string): string {
  const composed = id.normalize('NFC');
  if (Array.from(composed.normalize('NFD')).length > MAX_SPELT_CHARS) {
    return `(?:${listForms(id)
      .map((form) => Array.from(form, escapeRe2).join(''))
      .join('|')})`;
  }
  const spellChars = (text: string) => Array.from(text, (char) => `(?:${spellings(char)})`).join('');
  // Each character with its marks is spelled in both forms: a text may mix them.
  const both = (composed.match(/\P{M}\p{M}*|\p{M}+/gu) ?? [])
    .map((group) => ({ group, apart: group.normalize('NFD') }))
    .map(({ group, apart }) =>
      group === apart ? spellChars(group) : `(?:${spellChars(group)}|${spellChars(apart)})`,
    )
    .join('');
  const isOther = ![composed, composed.normalize('NFD')].includes(id);
  return isOther ? `(?:${both}|${spellChars(id)})` : both;
}

/** Characters that JSON may write as a backslash and a letter. */
const LETTERS: ReadonlyMap<string, string> = new Map(
  Object.entries({ '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't' }),
);

function spellInJson(char: string): string {
  const numbers = char
    .split('')
    .map((unit) => String.raw`\\+u${anyCase(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`)
    .join('');
  const letter = LETTERS.get(char);
  const isEscaped = ['/', '"', "'", '\\'].includes(char);
  return [
    `${isEscaped ? String.raw`\\*` : ''}${escapeRe2(char)}`,
    numbers,
    ...(letter === undefined ? [] : [String.raw`\\+${letter}`]),
  ].join('|');
}

function spellInUrl(char: string): string {
  const bytes = [...Buffer.from(char)].map(
    (byte) => `%(?:25)*${anyCase(byte.toString(16).padStart(2, '0'))}`,
  );
  return `${bytes.join('')}${char === ' ' ? String.raw`|\+` : ''}`;
}

function anyCase(hex: string): string {
  return hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

function escapeRe2(char: string): string {
  return char.replace(/[!-/:-@[-`{-~]/, String.raw`\$&`).replace(/\p{Cc}/u, (control) => {
    return `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}
