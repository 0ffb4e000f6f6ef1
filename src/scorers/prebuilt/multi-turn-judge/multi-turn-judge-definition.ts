import { defineScorer } from '../../scorer-definition.ts';
import { CRITERION_OPTION, MULTI_TURN_JUDGE_OPTIONS } from './multi-turn-judge-options.ts';

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
