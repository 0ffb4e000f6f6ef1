import { arraySchema, FLAG, INTEGER, objectSchema, TEXT } from '../json-schema.ts';
import type { ReplyFields } from '../reply-reader.ts';
import type { JudgedSentence } from './grounded-sentence.ts';

/** Most quotes of one sentence that are searched. */
const MAX_QUOTES = 8;

/** Schema of the quotes of a sentence; `absence` says that the whole source lacks something. */
export const QUOTES_SCHEMA = arraySchema(objectSchema({ source: INTEGER, quote: TEXT, absence: FLAG }));

/** Reads the quotes of an entry of a reply. */
export function readQuotes(entry: ReplyFields): JudgedSentence['quotes'] {
  return (entry.has('quotes') ? entry.objects('quotes') : [])
    .map((quote) => ({
      source: quote.number('source'),
      quote: quote.textIfAny('quote') ?? '',
      absence: quote.has('absence') && quote.flag('absence'),
    }))
    .slice(0, MAX_QUOTES);
}
