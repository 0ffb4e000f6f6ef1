import type { JsonJudgeSchema } from '../../../judge/reply/judge-schema.ts';
import { FLAG, arraySchema, NUMBER, objectSchema, TEXT } from '../shared/json-schema.ts';
import { replyReader } from '../shared/reply-reader.ts';
import type { ReplyFields } from '../shared/reply-reader.ts';
import type { WhyFields } from '../shared/why-fields.ts';

/**
 * Analysis of an answer by instruction. Scores go from 0 to 1; any other number makes the reply malformed. Without an
 * explanation, texts and lists that only explain are empty, and flags that only explain are absent.
 */
export interface AlignmentAnalysis {
  intentAlignment: { score: number; primaryIntent: string; isAddressed?: boolean; reasoning: string };
  requirementsFulfillment: {
    requirements: { requirement: string; isFulfilled: boolean; reasoning: string }[];
    /** Share of the fulfilled requirements, counted in code; a reply in the reference's form may bring its own. */
    overallScore: number;
  };
  completeness: { score: number; missingElements: string[]; reasoning: string };
  responseAppropriateness: {
    score: number;
    formatAlignment?: boolean;
    toneAlignment?: boolean;
    reasoning: string;
  };
  overallAssessment: string;
}

/** Schema of the analysis. */
export function alignmentSchema(why: WhyFields): JsonJudgeSchema<AlignmentAnalysis> {
  return { jsonSchema: buildShape(why), validate: replyReader((reply) => readAnalysis(reply, why)) };
}

function buildShape(why: WhyFields): object {
  const reasoning = why.ask('reasoning');
  const whereWanted = (fields: Record<string, object>) => (why.isWanted ? fields : {});
  return objectSchema({
    intentAlignment: objectSchema({
      ...whereWanted({ primaryIntent: TEXT }),
      ...reasoning,
      ...whereWanted({ isAddressed: FLAG }),
      score: NUMBER,
    }),
    requirementsFulfillment: objectSchema({
      requirements: arraySchema(objectSchema({ requirement: TEXT, ...reasoning, isFulfilled: FLAG })),
    }),
    completeness: objectSchema({
      ...whereWanted({ missingElements: arraySchema(TEXT) }),
      ...reasoning,
      score: NUMBER,
    }),
    responseAppropriateness: objectSchema({
      ...reasoning,
      ...whereWanted({ formatAlignment: FLAG, toneAlignment: FLAG }),
      score: NUMBER,
    }),
    ...why.ask('overallAssessment'),
  });
}

function readAnalysis(reply: ReplyFields, why: WhyFields): AlignmentAnalysis {
  const intent = reply.object('intentAlignment');
  const fulfilment = reply.object('requirementsFulfillment');
  const completeness = reply.object('completeness');
  const form = reply.object('responseAppropriateness');
  const requirements = fulfilment.objects('requirements').map((found) => ({
    requirement: found.text('requirement'),
    isFulfilled: found.flag('isFulfilled'),
    reasoning: why.read(found, 'reasoning'),
  }));
  const isAsked = (part: ReplyFields, name: string) => part.has(name) || why.isWanted;
  return {
    intentAlignment: {
      score: intent.share('score'),
      primaryIntent: why.read(intent, 'primaryIntent'),
      ...(isAsked(intent, 'isAddressed') ? { isAddressed: intent.flag('isAddressed') } : {}),
      reasoning: why.read(intent, 'reasoning'),
    },
    requirementsFulfillment: {
      requirements,
      overallScore: fulfilment.has('overallScore')
        ? fulfilment.share('overallScore')
        : shareFulfilled(requirements),
    },
    completeness: {
      score: completeness.share('score'),
      missingElements: isAsked(completeness, 'missingElements') ? completeness.texts('missingElements') : [],
      reasoning: why.read(completeness, 'reasoning'),
    },
    responseAppropriateness: {
      score: form.share('score'),
      ...(isAsked(form, 'formatAlignment') ? { formatAlignment: form.flag('formatAlignment') } : {}),
      ...(isAsked(form, 'toneAlignment') ? { toneAlignment: form.flag('toneAlignment') } : {}),
      reasoning: why.read(form, 'reasoning'),
    },
    overallAssessment: why.read(reply, 'overallAssessment'),
  };
}

/** Counts the fulfilled requirements; without any, nothing is broken. */
function shareFulfilled(requirements: readonly { readonly isFulfilled: boolean }[]): number {
  const fulfilled = requirements.filter(({ isFulfilled }) => isFulfilled).length;
  return requirements.length === 0 ? 1 : fulfilled / requirements.length;
}
