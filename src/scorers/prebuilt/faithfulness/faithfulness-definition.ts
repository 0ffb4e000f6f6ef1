import { defineScorer } from '../../scorer-definition.ts';
import { CLAIM_OPTIONS } from '../shared/claims/claim-options.ts';

/** The scorer `faithfulness` of rules. */
export const faithfulnessDefinition = defineScorer({
  name: 'faithfulness',
  needsJudge: true,
  measures: 'claims of the answer that the evidence supports',
  options: CLAIM_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./faithfulness-scorer.ts')).createFaithfulnessScorer({ model: judge, options }),
});
