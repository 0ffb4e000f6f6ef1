import { defineScorer } from '../../scorer-definition.ts';
import { CLAIM_OPTIONS } from '../shared/claims/claim-options.ts';

/** The scorer `hallucination` of rules. */
export const hallucinationDefinition = defineScorer({
  name: 'hallucination',
  needsJudge: true,
  measures: 'claims of the answer that the evidence contradicts or does not back',
  options: CLAIM_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./hallucination-scorer.ts')).createHallucinationScorer({ model: judge, options }),
});
