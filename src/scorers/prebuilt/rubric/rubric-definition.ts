import { defineScorer } from '../../scorer-definition.ts';
import { CRITERIA_OPTION, RUBRIC_OPTIONS } from './rubric-options.ts';

/** The scorer `rubric` of rules. */
export const rubricDefinition = defineScorer({
  name: 'rubric',
  needsJudge: true,
  measures: 'whether the answer meets the points of a rubric',
  options: {
    criteria: { ...CRITERIA_OPTION, needed: 'the points of the rubric' },
    ...RUBRIC_OPTIONS,
  },
  create: async ({ judge, options: { criteria, ...options } }) =>
    (await import('./rubric-scorer.ts')).createRubricScorer({
      model: judge,
      criteria: criteria as never,
      options,
    }),
});
