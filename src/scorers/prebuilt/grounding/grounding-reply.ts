import type { JsonJudgeSchema } from '../../../judge/reply/judge-schema.ts';
import { INTEGER, arraySchema, objectSchema, enumSchema, TEXT } from '../shared/json-schema.ts';
import { replyReader } from '../shared/reply-reader.ts';

/** Most quotes of one sentence that are searched. */
const MAX_QUOTES = 8;

export const GROUNDING_VERDICTS = ['supported', 'contradicted', 'unsupported', 'no_claim'] as const;
export type GroundingVerdict = (typeof GROUNDING_VERDICTS)[number];

/** Verdict of the judge on one sentence. */
export interface JudgedSentence {
  verdict: GroundingVerdict;
  quotes: { source: number; quote: string }[];
  reason: string;
}

/** Schema of a reply with exactly one verdict for each of `count` sentences; `make` builds the result from them. */
export function groundingSchema<T>(count: number, make: (judged: JudgedSentence[]) => T): JsonJudgeSchema<T> {
  const entry = {
    n: INTEGER,
    verdict: enumSchema(GROUNDING_VERDICTS),
    quotes: arraySchema(objectSchema({ source: INTEGER, quote: TEXT })),
    reason: TEXT,
  };
  return {
    jsonSchema: objectSchema({ verdicts: arraySchema(objectSchema(entry)) }),
    validate: replyReader((reply) =>
      make(
        reply.numbered('verdicts', { count, what: 'sentence' }).map((found) => ({
          verdict: found.word('verdict', GROUNDING_VERDICTS),
          quotes: found
            .objects('quotes')
            .map((quote) => ({ source: quote.number('source'), quote: quote.text('quote') }))
            .slice(0, MAX_QUOTES),
          reason: found.textIfAny('reason') ?? '',
        })),
      ),
    ),
  };
}
