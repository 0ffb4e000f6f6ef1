import type { JsonJudgeSchema } from '../../../judge/reply/judge-schema.ts';
import { GROUNDING_VERDICTS } from '../shared/evidence/grounded-sentence.ts';
import type { JudgedSentence } from '../shared/evidence/grounded-sentence.ts';
import { QUOTES_SCHEMA, readQuotes } from '../shared/evidence/quotes-reply.ts';
import { INTEGER, arraySchema, objectSchema, enumSchema, TEXT } from '../shared/json-schema.ts';
import { replyReader } from '../shared/reply-reader.ts';

/** Schema of a reply with exactly one verdict for each of `count` sentences; `make` builds the result from them. */
export function groundingSchema<T>(count: number, make: (judged: JudgedSentence[]) => T): JsonJudgeSchema<T> {
  const entry = {
    n: INTEGER,
    quotes: QUOTES_SCHEMA,
    reason: TEXT,
    verdict: enumSchema(GROUNDING_VERDICTS),
  };
  return {
    jsonSchema: objectSchema({ verdicts: arraySchema(objectSchema(entry)) }),
    validate: replyReader((reply) =>
      make(
        reply.numbered('verdicts', { count, what: 'sentence' }).map((found) => ({
          verdict: found.word('verdict', GROUNDING_VERDICTS),
          quotes: readQuotes(found),
          reason: found.textIfAny('reason') ?? '',
        })),
      ),
    ),
  };
}
