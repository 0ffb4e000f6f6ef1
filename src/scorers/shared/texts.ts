import type { Verdict } from '../../domain/score.ts';
import stringSimilarity from 'string-similarity';
import { cutText } from '../../domain/cut-text.ts';

/** Scripts that write words without spaces between them. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー]+/gu;
/** Signs within words that are no part of them: soft hyphens, joiners, marks of direction, the marks of Armenian questions. */
const UNSEEN = /[\p{Cf}՛-՞]/gu;
/** Signs that the normal form would turn into letters and digits: `™`, `²`. */
const SIGNS = /(?![\0-\x7f])[\p{S}\p{No}]/gu;
const APOSTROPHES = /[’‘ʼ´]/g;
const HYPHENS = /[‐‑]/g;
/**
 * Words: letters, marks and digits of any script. An apostrophe, a hyphen, a low line and a full stop join two parts of a word, a comma
 * two digits. `C++` and `F#` are words.
 */
const WORD =
  /(?<![\p{L}\p{M}\p{N}])\p{L}(?:\+\+|#)(?![\p{L}\p{N}])|[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:(?:['._-]|(?<=\p{N}),(?=\p{N}))[\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*/gu;
const TOO_MANY_MARKS = /(\p{M}{30})\p{M}+/gu;
const INNER_MARKS = /[.,]/g;

const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

/**
 * Composes letters and their accents, so that equal texts have equal characters. `NFKC` makes characters of one width and form, too.
 * Marks beyond the 30 that Unicode allows after a letter are left out first: their order takes time of the square of their number.
 */
export function composeText(text: string, form: 'NFC' | 'NFKC' = 'NFC'): string {
  return text.replace(TOO_MANY_MARKS, '$1').normalize(form);
}

/**
 * Lists the words of a text in order, lower-cased, in the compatible normal form: equal words of one width, composed, without
 * punctuation and symbols. Text in scripts without spaces is cut into words. Full stops and commas inside a word are left out.
 */
export function listWords(text: string): string[] {
  const bare = text.replace(UNSEEN, '').replace(APOSTROPHES, "'").replace(SIGNS, ' ');
  const plain = composeText(bare, 'NFKC').replace(HYPHENS, '-');
  const words = plain.replace(UNSPACED, cutIntoWords).toLowerCase().match(WORD) ?? [];
  return words.map((word) => word.replace(INNER_MARKS, ''));
}

function cutIntoWords(run: string): string {
  return ` ${[...segmenter.segment(run)].map(({ segment }) => segment).join(' ')} `;
}

/**
 * Computes the Dice coefficient of the letter pairs of two composed texts without white space: 1 equal or both empty, 0 nothing in
 * common or fewer than two characters in one of them.
 */
export function textSimilarity(a: string, b: string): number {
  return stringSimilarity.compareTwoStrings(composeText(a), composeText(b));
}

/** Rounds to two decimals, halves up; corrects values like 1.005, which doubles store slightly too low. */
export function roundToTwoDecimals(value: number): number {
  return Math.round((value + Number.EPSILON) * 100) / 100;
}

/** True when `value` lies strictly nearer to `a` than to `b`. */
export function isCloserTo(value: number, a: number, b: number): boolean {
  return Math.abs(value - a) < Math.abs(value - b);
}

/** Writes a share in percent: `62 %`; a share between 0 and 1 is never written as 0 % or 100 %. */
export function formatPercent(share: number): string {
  if (share <= 0 || share >= 1) {
    return `${share * 100} %`;
  }
  return `${Math.min(99, Math.max(1, Math.round(share * 100)))} %`;
}

/** Most findings or texts that an explanation names; the others are only counted. */
const MAX_NAMED = 5;
/** Longest text that an explanation names, in characters. */
const MAX_NAME_CHARS = 40;

/** Names findings: `"claim" (why); "claim" (why) and 3 more`. */
export function nameFindings(findings: readonly Pick<Verdict, 'statement' | 'reason'>[]): string {
  const named = findings
    .slice(0, MAX_NAMED)
    .map(({ statement, reason }) => (reason === undefined ? `"${statement}"` : `"${statement}" (${reason})`));
  const rest = findings.length - named.length;
  return rest > 0 ? `${named.join('; ')} and ${rest} more` : named.join('; ');
}

/** Names texts of a run, such as words or tools: `one, two and 3 more`. */
export function nameTexts(texts: readonly string[]): string {
  const named = texts.slice(0, MAX_NAMED).map((text) => cutText(text, MAX_NAME_CHARS));
  const rest = texts.length - named.length;
  return rest > 0 ? `${named.join(', ')} and ${rest} more` : named.join(', ');
}

/** Names texts behind a word that says what they are; nothing without texts. */
export function nameAfter(what: string, texts: readonly string[]): string {
  return texts.length === 0 ? '' : `; ${what}: ${nameTexts(texts)}`;
}

/** True when `actual` contains `wanted` in its order, with any items between. */
export function isSubsequence(wanted: readonly string[], actual: readonly string[]): boolean {
  let next = 0;
  for (const item of actual) {
    if (item === wanted[next]) {
      next += 1;
    }
  }
  return next === wanted.length;
}
