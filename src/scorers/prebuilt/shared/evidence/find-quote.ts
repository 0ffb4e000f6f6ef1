import { composeText } from '../../../utils/words.ts';

/** Shortest quote that counts as evidence, in letters and digits. */
const MIN_QUOTE_CHARS = 3;
/** Longest quote that may contain copying errors. */
const MAX_SLIPPING_CHARS = 240;
/** Characters for each allowed copying error, and most errors in all. */
const CHARS_PER_SLIP = 24;
const MAX_SLIPS = 3;
/** Most places that are compared for each piece of a quote. */
const MAX_PLACES = 6;

/** Normalises everything that copying may change: case, width of characters, punctuation, spacing. */
export function comparable(text: string): string {
  return composeText(text, 'NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/**
 * True when a source contains a quote (both `comparable`): letter by letter, or with a few copying errors, but never inside a
 * number. The text around an ellipsis is searched piece by piece.
 */
export function isQuotedIn(quote: string, source: string): boolean {
  const pieces = quote
    .split(/…|\.{3,}/u)
    .map(comparable)
    .filter(Boolean);
  const length = pieces.join('').length;
  return length >= MIN_QUOTE_CHARS || pieces.join(' ') === source
    ? pieces.length > 0 &&
        pieces.every((piece) => isQuoted(piece, source) || isQuotedWithSlips(piece, source))
    : false;
}

function isQuoted(piece: string, source: string): boolean {
  for (let at = source.indexOf(piece); at >= 0; at = source.indexOf(piece, at + 1)) {
    const cutsNumber =
      (isDigit(piece[0]) && isDigit(source[at - 1])) ||
      (isDigit(piece.at(-1)) && isDigit(source[at + piece.length]));
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

function isDigit(char: string | undefined): boolean {
  return char !== undefined && /\p{N}/u.test(char);
}
