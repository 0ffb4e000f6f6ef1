import { MEASURES, nameMeasure } from '../../../domain/behaviour/measures.ts';
import type { NoOptions } from '../shared/checked-options.ts';
import { defineScorer } from '../../scorer-definition.ts';

/** The scorer `behaviour` of rules. */
export const behaviourDefinition = defineScorer({
  name: 'behaviour',
  needsJudge: false,
  readsPast: true,
  rows: MEASURES.map(nameMeasure),
  measures:
    'what a run did: tokens, cost, duration, steps, tool calls and their errors, repeats, and its answer',
  options: {},
  create: async ({ options }) =>
    (await import('./behaviour-scorer.ts')).createBehaviourScorer(options as NoOptions),
});
