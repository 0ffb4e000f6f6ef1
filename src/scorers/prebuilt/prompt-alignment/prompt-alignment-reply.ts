import type { JsonJudgeSchema } from '../../../judge/judge-schema.ts';
import { FLAG, listOf, NUMBER, objectOf, TEXT } from '../shared/json-schema.ts';
import { replyReader } from '../shared/reply-reader.ts';

/** How well an answer keeps to its instructions, part by part; scores go from 0 to 1; any other is a malformed reply, so that the scorer keeps to its range. */
export interface AlignmentAnalysis {
  intentAlignment: { score: number; primaryIntent: string; isAddressed: boolean; reasoning: string };
  requirementsFulfillment: {
    requirements: { requirement: string; isFulfilled: boolean; reasoning: string }[];
    overallScore: number;
  };
  completeness: { score: number; missingElements: string[]; reasoning: string };
  responseAppropriateness: {
    score: number;
    formatAlignment: boolean;
    toneAlignment: boolean;
    reasoning: string;
  };
  overallAssessment: string;
}

export const ALIGNMENT_SCHEMA: JsonJudgeSchema<AlignmentAnalysis> = {
  jsonSchema: objectOf({
    intentAlignment: objectOf({ score: NUMBER, primaryIntent: TEXT, isAddressed: FLAG, reasoning: TEXT }),
    requirementsFulfillment: objectOf({
      requirements: listOf(objectOf({ requirement: TEXT, isFulfilled: FLAG, reasoning: TEXT })),
      overallScore: NUMBER,
    }),
    completeness: objectOf({ score: NUMBER, missingElements: listOf(TEXT), reasoning: TEXT }),
    responseAppropriateness: objectOf({
      score: NUMBER,
      formatAlignment: FLAG,
      toneAlignment: FLAG,
      reasoning: TEXT,
    }),
    overallAssessment: TEXT,
  }),
  validate: replyReader((reply) => {
    const intent = reply.object('intentAlignment');
    const fulfilment = reply.object('requirementsFulfillment');
    const completeness = reply.object('completeness');
    const form = reply.object('responseAppropriateness');
    return {
      intentAlignment: {
        score: intent.share('score'),
        primaryIntent: intent.text('primaryIntent'),
        isAddressed: intent.flag('isAddressed'),
        reasoning: intent.text('reasoning'),
      },
      requirementsFulfillment: {
        requirements: fulfilment.objects('requirements').map((found) => ({
          requirement: found.text('requirement'),
          isFulfilled: found.flag('isFulfilled'),
          reasoning: found.text('reasoning'),
        })),
        overallScore: fulfilment.share('overallScore'),
      },
      completeness: {
        score: completeness.share('score'),
        missingElements: completeness.texts('missingElements'),
        reasoning: completeness.text('reasoning'),
      },
      responseAppropriateness: {
        score: form.share('score'),
        formatAlignment: form.flag('formatAlignment'),
        toneAlignment: form.flag('toneAlignment'),
        reasoning: form.text('reasoning'),
      },
      overallAssessment: reply.text('overallAssessment'),
    };
  }),
};
