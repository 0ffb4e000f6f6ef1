import { defineScorer } from '../../scorer-definition.ts';
import { isShare } from '../shared/checked-options.ts';
import { reasonOption, scaleOption, SIGHT_OPTIONS } from '../shared/described-options.ts';

/** Options of the scorer. */
export const ANSWER_RELEVANCY_OPTIONS = {
  scale: scaleOption,
  uncertaintyWeight: { ...isShare, means: 'what a statement counts that helps indirectly, 0 to 1 (0.3)' },
  ...SIGHT_OPTIONS,
  reason: reasonOption,
};

/** The scorer `answer-relevancy` of rules. */
export const answerRelevancyDefinition = defineScorer({
  name: 'answer-relevancy',
  needsJudge: true,
  measures: 'how much of the answer is about the question',
  options: ANSWER_RELEVANCY_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./answer-relevancy-scorer.ts')).createAnswerRelevancyScorer({ model: judge, options }),
});
