import keywordExtractor from 'keyword-extractor';

/** The package is CommonJS, so the import is the object that its types call `default`. */
const { getStopwords } = keywordExtractor as unknown as typeof keywordExtractor.default;
const STOP_WORDS: ReadonlySet<string> = new Set(getStopwords({ language: 'en' }));
const URL_SIGN = /https?:\/\//;
const PUNCTUATION = /[.,;!?():"“”‘’]|^'|'$/g;
const SYMBOLS_ALONE = /[_@&#]/g;
const ALL_DIGITS = /^\d+$/;
/** Scripts that write words without spaces between them. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー]+/gu;
/** Words of Hiragana only: in Japanese they are grammar, hardly ever content. */
const GRAMMAR = /^\p{sc=Hiragana}+$/u;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/**
 * Lists the distinct words of a text that carry meaning, lower-cased, in order: no English stop words, no numbers, no markup
 * tags, no punctuation. Web addresses stay unchanged. Text in scripts without spaces is cut into words.
 */
export function listKeywords(text: string): Set<string> {
  const words = withoutTags(text).replace(UNSPACED, cutIntoWords).split(/\s/);
  const keywords = new Set<string>();
  for (const raw of words) {
    const isUrl = URL_SIGN.test(raw);
    const word = isUrl ? raw : stripPunctuation(raw);
    const lower = word.toLowerCase();
    if (word !== '' && !ALL_DIGITS.test(word) && !STOP_WORDS.has(lower)) {
      keywords.add(isUrl ? word : lower);
    }
  }
  return keywords;
}

function stripPunctuation(raw: string): string {
  const word = raw.replace(PUNCTUATION, '');
  return word.length === 1 ? word.replace(SYMBOLS_ALONE, '') : word;
}

function cutIntoWords(run: string): string {
  const words = [...segmenter.segment(run)].map(({ segment }) => segment);
  return ` ${words.filter((word) => !GRAMMAR.test(word)).join(' ')} `;
}

/** Removes `<…>` in one pass. The text is untrusted, and a pattern would search to its end for every `<`. */
function withoutTags(text: string): string {
  const kept: string[] = [];
  let from = 0;
  let open = text.indexOf('<');
  while (open >= 0) {
    const close = text.indexOf('>', open);
    if (close < 0) {
      break;
    }
    if (close > open + 1) {
      kept.push(text.slice(from, open));
      from = close + 1;
    }
    open = text.indexOf('<', close + 1);
  }
  return kept.join('') + text.slice(from);
}
