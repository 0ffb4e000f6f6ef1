import keywordExtractor from 'keyword-extractor';
import { listWords } from '../../utils/words.ts';

/** The package is CommonJS, so the import is the object that its types call `default`. */
const { getStopwords } = keywordExtractor as unknown as typeof keywordExtractor.default;
const STOP_WORDS: ReadonlySet<string> = new Set(getStopwords({ language: 'en' }));
/** Web addresses, without punctuation after them. */
const URL = /(https?:\/\/[!-~]*[a-z0-9/])/i;
const NUMBER = /^[\p{N}\p{M}]+$/u;
/** Words of Hiragana only: in Japanese they are grammar, hardly ever content. */
const GRAMMAR = /^[\p{sc=Hiragana}ー]+$/u;

/**
 * Lists the distinct words of a text that carry meaning, lower-cased, in order: no English stop words, no numbers, no markup
 * tags, no punctuation. Web addresses stay unchanged.
 */
export function listKeywords(text: string): Set<string> {
  const parts = withoutTags(text).split(URL);
  return new Set(
    parts.flatMap((part, index) => (index % 2 === 1 ? part : listWords(part).filter(isKeyword))),
  );
}

function isKeyword(word: string): boolean {
  return !NUMBER.test(word) && !GRAMMAR.test(word) && !STOP_WORDS.has(word);
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
