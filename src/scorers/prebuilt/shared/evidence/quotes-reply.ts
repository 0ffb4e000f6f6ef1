import { arraySchema, INTEGER, objectSchema, TEXT } from '../json-schema.ts';
import type { ReplyFields } from '../reply-reader.ts';
import type { JudgedSentence } from './grounded-sentence.ts';

/** Most quotes of one sentence that are searched. */
const MAX_QUOTES = 8;

/** Schema of the quotes of a sentence. */
export const QUOTES_SCHEMA = arraySchema(objectSchema({ source: INTEGER, quote: TEXT }));

/** Reads the quotes of an entry of a reply. */
export function readQuotes(entry: ReplyFields): JudgedSentence['quotes'] {
  return entry
    .objects('quotes')
    .map((quote) => ({ source: quote.number('source'), quote: quote.text('quote') }))
    .slice(0, MAX_QUOTES);
}
