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
