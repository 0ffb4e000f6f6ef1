import { defineScorer } from '../../scorer-definition.ts';
import { isRubric } from './rubric-criteria.ts';
import { ownReasonOption, scaleOption } from '../shared/described-options.ts';

/** The points of a rubric. */
export const CRITERIA_OPTION = {
  fits: isRubric,
  is: 'a text with a point a line or a list of { description, required }',
  means:
    'lines of text, or `{ description, required }`; else `rubric` of `run.requestContext`, `run.additionalContext` or `run.input`',
};

/** Options beside the criteria. */
export const RUBRIC_OPTIONS = {
  scale: scaleOption,
  reason: ownReasonOption,
};

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
