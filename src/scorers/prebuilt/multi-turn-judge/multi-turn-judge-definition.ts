import { defineScorer } from '../../scorer-definition.ts';
import { isFilledText } from '../shared/checked-options.ts';
import { ownReasonOption, scaleOption, SIGHT_OPTIONS } from '../shared/described-options.ts';

/** The criterion. */
export const CRITERION_OPTION = { ...isFilledText, means: 'what the turns must meet, in words' };

/** Options beside the criterion. */
export const MULTI_TURN_JUDGE_OPTIONS = {
  scale: scaleOption,
  ...SIGHT_OPTIONS,
  reason: ownReasonOption,
};

/** The scorer `multi-turn-judge` of rules. */
export const multiTurnJudgeDefinition = defineScorer({
  name: 'multi-turn-judge',
  needsJudge: true,
  measures: 'whether the turns of the assistant together meet a criterion',
  options: {
    criterion: { ...CRITERION_OPTION, needed: 'what the answers must meet' },
    ...MULTI_TURN_JUDGE_OPTIONS,
  },
  create: async ({ judge, options: { criterion, ...options } }) =>
    (await import('./multi-turn-judge-scorer.ts')).createMultiTurnJudgeScorer({
      model: judge,
      criterion: criterion as never,
      options,
    }),
});
