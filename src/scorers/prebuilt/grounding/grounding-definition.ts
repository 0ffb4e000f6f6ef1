import { defineScorer } from '../../scorer-definition.ts';
import { GROUNDING_OPTIONS, GROUNDING_ROWS } from './grounding-options.ts';

/** The scorer `grounding` of rules. */
export const groundingDefinition = defineScorer({
  name: 'grounding',
  needsJudge: true,
  rows: Object.keys(GROUNDING_ROWS),
  rowFacts: GROUNDING_ROWS,
  measures: 'whether each sentence of the answer rests on evidence, by quotes that code looks up',
  options: GROUNDING_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./grounding-scorer.ts')).createGroundingScorer({ model: judge, options }),
});
