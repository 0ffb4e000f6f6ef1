import type { JsonJudgeSchema } from '../../../judge/reply/judge-schema.ts';
import { GROUNDING_VERDICTS } from '../shared/evidence/grounded-sentence.ts';
import type { JudgedSentence } from '../shared/evidence/grounded-sentence.ts';
import { QUOTES_SCHEMA, readQuotes } from '../shared/evidence/quotes-reply.ts';
import { arraySchema, enumSchema, INTEGER, objectSchema, TEXT } from '../shared/json-schema.ts';
import { replyReader } from '../shared/reply-reader.ts';
import type { ReplyFields } from '../shared/reply-reader.ts';
import type { PanelQuality } from './panel-definition.ts';
import type { PanelForm } from './panel-prompts.ts';

const INSTRUCTION_VERDICTS = ['kept', 'broken'] as const;

/** Words of the judge on a sentence, by quality. */
const SENTENCE_VERDICTS = {
  grounding: GROUNDING_VERDICTS,
  relevancy: ['direct', 'indirect', 'beside', 'none'],
  toxicity: ['toxic', 'clean'],
  bias: ['biased', 'fair'],
} as const;
type SentenceQuality = keyof typeof SENTENCE_VERDICTS;

/** Reply of the judge, checked against the number of sentences. */
export interface PanelReply {
  readonly sentences: readonly SentenceEntry[];
  readonly instructions: readonly InstructionEntry[];
}

/** Verdicts on one sentence. */
export interface SentenceEntry {
  readonly words: Readonly<Partial<Record<PanelQuality, string>>>;
  readonly quotes: JudgedSentence['quotes'];
  readonly reasons: Readonly<Partial<Record<string, string>>>;
}

/** Verdict on one demand of operator or user. */
interface InstructionEntry {
  readonly quote: string;
  readonly verdict: (typeof INSTRUCTION_VERDICTS)[number];
  readonly reason: string;
}

/** Schema of a reply on `count` sentences; `make` builds the result from it. */
export function panelSchema<T>(
  form: PanelForm,
  count: number,
  make: (reply: PanelReply) => T,
): JsonJudgeSchema<T> {
  const judged = form.qualities.filter(isOfSentences);
  const hasInstructions = form.qualities.includes('instructions');
  const entry = sentenceSchema(judged, form.hasReasons);
  const demand = instructionSchema(form.hasReasons);
  return {
    jsonSchema: objectSchema({
      ...(judged.length === 0 ? {} : { sentences: arraySchema(entry) }),
      ...(hasInstructions ? { instructions: arraySchema(demand) } : {}),
    }),
    validate: replyReader((reply) => {
      const numbering = { count, what: 'sentence' };
      const sentences = judged.length === 0 ? [] : reply.numbered('sentences', numbering);
      const instructions = hasInstructions ? reply.objects('instructions') : [];
      return make({
        sentences: sentences.map((found) => readSentence(found, judged)),
        instructions: instructions.map(readInstruction),
      });
    }),
  };
}

function isOfSentences(quality: PanelQuality): quality is SentenceQuality {
  return quality !== 'instructions';
}

function sentenceSchema(judged: readonly SentenceQuality[], hasReasons: boolean): object {
  const words = judged.map((quality) => [quality, enumSchema(SENTENCE_VERDICTS[quality])] as const);
  const reason = objectSchema({ quality: enumSchema(judged), reason: TEXT });
  return objectSchema({
    n: INTEGER,
    ...(judged.includes('grounding') ? { quotes: QUOTES_SCHEMA } : {}),
    ...(hasReasons ? { reasons: arraySchema(reason) } : {}),
    ...Object.fromEntries(words),
  });
}

function instructionSchema(hasReasons: boolean): object {
  const why = hasReasons ? { reason: TEXT } : {};
  return objectSchema({ quote: TEXT, ...why, verdict: enumSchema(INSTRUCTION_VERDICTS) });
}

function readSentence(found: ReplyFields, judged: readonly SentenceQuality[]): SentenceEntry {
  const reasons = found.has('reasons') ? found.objects('reasons') : [];
  return {
    words: Object.fromEntries(
      judged.map((quality) => [quality, found.word(quality, SENTENCE_VERDICTS[quality])]),
    ),
    quotes: judged.includes('grounding') ? readQuotes(found) : [],
    reasons: Object.fromEntries(
      reasons.map((entry) => [entry.word('quality', judged), entry.textIfAny('reason') ?? '']),
    ),
  };
}

function readInstruction(found: ReplyFields): InstructionEntry {
  return {
    quote: found.text('quote'),
    verdict: found.word('verdict', INSTRUCTION_VERDICTS),
    reason: found.textIfAny('reason') ?? '',
  };
}
