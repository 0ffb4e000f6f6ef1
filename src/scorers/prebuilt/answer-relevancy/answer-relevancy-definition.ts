import { defineScorer } from '../../scorer-definition.ts';
import { ANSWER_RELEVANCY_OPTIONS } from './answer-relevancy-options.ts';

/** The scorer `answer-relevancy` of rules. */
export const answerRelevancyDefinition = defineScorer({
  name: 'answer-relevancy',
  needsJudge: true,
  measures: 'how much of the answer is about the question',
  options: ANSWER_RELEVANCY_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./answer-relevancy-scorer.ts')).createAnswerRelevancyScorer({ model: judge, options }),
});
