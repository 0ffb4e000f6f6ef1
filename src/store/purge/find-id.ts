import type { QueryParams } from '../query-params.ts';

/** SQL for all texts of a row, by table. */
export const TEXTS = {
  otel_traces: `arrayConcat([SpanName, StatusMessage, TraceState], mapValues(SpanAttributes), mapValues(ResourceAttributes),
    \`Events.Name\`, arrayFlatten(arrayMap(event -> mapValues(event), \`Events.Attributes\`)),
    \`Links.TraceState\`, arrayFlatten(arrayMap(link -> mapValues(link), \`Links.Attributes\`)))`,
  otel_logs:
    'arrayConcat([Body, EventName], mapValues(LogAttributes), mapValues(ResourceAttributes), mapValues(ScopeAttributes))',
} as const;

const MAY_HOLD = 'position(text, {id:String}) > 0 OR position(text, {escape:String}) > 0';

/** SQL condition: one of `texts` is the id, or names it as a value of JSON. It needs `idParams`, like the next ones. */
export const NAMES_ID = `arrayExists(text -> (${MAY_HOLD}) AND match(text, {named:String}), texts)`;

/** SQL condition: the bytes `text` hold the id in any spelling. */
export const HOLDS_ID = `(${MAY_HOLD}) AND match(text, {spelled:String})`;

/** SQL for the number of `texts` that hold the id as a word only. */
export const MENTIONS_OF_ID = `arrayCount(text -> positionCaseInsensitive(text, {part:String}) > 0
  AND match(text, {plain:String}) AND NOT match(text, {named:String}), texts)`;

/** Returns the parameters of these conditions. */
export function idParams(id: string): QueryParams {
  return { id, ...buildIdExpressions(id) };
}

/** Regular expressions (RE2) that find an id in a text. */
interface IdExpressions {
  /** The id as a value: the whole text, in quotes, or a number of JSON. */
  readonly named: string;
  /** The id anywhere. */
  readonly spelled: string;
  /** The id as a word of any letter case, percent-encoded or not. */
  readonly plain: string;
  /** Text that every text with the id has, unless it has the id itself. */
  readonly escape: string;
  /** Longest part of the id that plain text never escapes: looking for it is far cheaper than for the id as a word. */
  readonly part: string;
}

/** Longest id that is searched in every spelling of JSON, characters; a longer one only as it is: statements have a largest size. */
const MAX_SPELT_CHARS = 512;

/** Quotes around a value of JSON, at any depth of JSON in JSON; some writers escape quotes by their numbers. */
const QUOTE = String.raw`(?:\\*["']|\\+u002[27])`;
/** Blanks of JSON, which JSON in JSON escapes. */
const BLANKS = String.raw`(?:\s|\\+[nrt])*`;

/**
 * Builds the expressions of an id. JSON may write each character of a text as its number (`\u00fc`, in both letter cases) and some by
 * a backslash (`\/`); JSON in JSON doubles the backslashes.
 */
function buildIdExpressions(id: string): IdExpressions {
  const spelled = spell(id, spellInJson);
  const isNumber = /^-?\d+$/.test(id);
  const number = String.raw`[:,\[]${BLANKS}${spelled}${BLANKS}(?:[,}\])]|$)`;
  const word = spell(id, (char) => `${spellInJson(char)}|${spellInUrl(char)}`);
  return {
    spelled,
    named: `(?:^|${QUOTE})${spelled}(?:${QUOTE}|$)${isNumber ? `|${number}` : ''}`,
    plain: String.raw`(?i)(?:^|[^\pL\pN]|%[0-9a-f]{2}|\\[nrt]|\\u[0-9a-f]{4})${word}(?:[^\pL\pN]|$)`,
    part: (id.match(/[\w.~-]+/g) ?? []).reduce(
      (longest, run) => (run.length > longest.length ? run : longest),
      '',
    ),
    escape: /["'\\/\p{Cc}]/u.test(id) ? '\\' : String.raw`\u`,
  };
}

function spell(id: string, spellings: (char: string) => string): string {
  const chars = Array.from(id);
  return chars.length > MAX_SPELT_CHARS
    ? chars.map(escapeRe2).join('')
    : chars.map((char) => `(?:${spellings(char)})`).join('');
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
  return [...Buffer.from(char)].map((byte) => `%${anyCase(byte.toString(16).padStart(2, '0'))}`).join('');
}

function anyCase(hex: string): string {
  return hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

function escapeRe2(char: string): string {
  return char.replace(/[!-/:-@[-`{-~]/, String.raw`\$&`).replace(/\p{Cc}/u, (control) => {
    return `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}
