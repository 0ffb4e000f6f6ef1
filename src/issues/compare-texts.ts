import keywordExtractor from 'keyword-extractor';
import type { FailureSubject } from '../domain/failure.ts';
import { listWords } from '../scorers/shared/texts.ts';

/** The package is CommonJS, so the import is the object that its types call `default`. */
const { getStopwords } = keywordExtractor as unknown as typeof keywordExtractor.default;

/** Words that say nothing alone, in the languages in which answers are most often written. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (['en', 'de', 'fr', 'es', 'pt', 'it', 'nl'] as const).flatMap((language) => getStopwords({ language })),
);

/** Least words of a text that are compared: one with fewer that say something gives its longest other ones. */
const LEAST_WORDS = 3;

/** Letters of a word that are compared; endings differ. */
const STEM_LETTERS = 6;

/** Lists the stems of a masked text's words: those that say something, each once. Marks are left out. */
export function listStems(masked: string): string[] {
  const words = [...new Set(listWords(masked.replace(/<\w+>|_/gu, ' ')))];
  const telling = words.filter((word) => !STOP_WORDS.has(word));
  const others = words
    .filter((word) => STOP_WORDS.has(word))
    .toSorted((one, other) => other.length - one.length);
  const chosen = [...telling, ...others.slice(0, Math.max(0, LEAST_WORDS - telling.length))];
  return chosen.length === 0 ? [masked] : [...new Set(chosen.map(stem))];
}

/** Cuts the endings of a word. It is coarse, and the same in all languages. */
function stem(word: string): string {
  return word
    .replace(/(?<=\p{L}{3})(?:ing|ed|es|s|e)$/u, '')
    .replace(/(\p{L})\1$/u, '$1')
    .slice(0, STEM_LETTERS);
}

/** Causes of errors that need no further words: a tool has one of each. */
const CAUSES: readonly (readonly [status: RegExp, words: RegExp])[] = [
  [
    /\b(?:408|504|524)\b/,
    /\btime[ds]?[ -]?out|deadline (?:was )?exceeded|\b(?:no|without) (?:an? )?(?:reply|response|answer)\b|\b(?:not|n't|never) (?:reply|replied|respond|responded|answer|answered)\b/,
  ],
  [/\b429\b/, /\brate[ -]?limit|too many requests|\bquota\b|throttl/],
  [
    /\b413\b/,
    /context[ _-]?(?:length|window|size)|\btoo many tokens|\btoken limit|\bmaximum (?:number of )?tokens/,
  ],
  [
    /\b(?:502|503|529)\b/,
    /\b(?:temporarily |currently )?(?:unavailable|overloaded)\b|bad gateway|\becon[a-z]+|enotfound|eai_again|socket hang up|connection (?:was )?(?:refused|reset|closed|aborted|error)|(?:cannot|can't|could not|unable to|failed to) connect/,
  ],
  [
    /\b40[137]\b/,
    /\bunauthori[sz]ed\b|\bforbidden\b|\b(?:access|permission) (?:was |is )?denied|\b(?:invalid|expired|missing|wrong) (?:api[ _-]?key|(?:access |bearer )?token|credentials?)/,
  ],
  [/\b(?:404|410)\b/, /(?!)/],
];

/** Finds the cause of an error by its status, else by its words; undefined for one that these do not tell. */
export function findCause({ errorType = '', text = '' }: FailureSubject): number | undefined {
  const words = `${errorType.replace(/(?<=[a-z])(?=[A-Z])/gu, ' ')} ${text}`.toLowerCase();
  const byStatus = CAUSES.findIndex(([status]) => status.test(errorType));
  const found = byStatus >= 0 ? byStatus : CAUSES.findIndex(([, form]) => form.test(words));
  return found < 0 ? undefined : found;
}
