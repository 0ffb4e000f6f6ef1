import { defineScorer } from '../../scorer-definition.ts';
import { PANEL_OPTIONS } from './panel-options.ts';

/** The scorer `panel` of rules. */
export const panelDefinition = defineScorer({
  name: 'panel',
  needsJudge: true,
  rows: ['panel-grounding', 'panel-relevancy', 'panel-toxicity', 'panel-bias', 'panel-instructions'],
  measures: 'several qualities of the answer, sentence by sentence, in one question to the judge',
  options: PANEL_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./panel-scorer.ts')).createPanelScorer({ model: judge, options }),
});
