import { defineScorer } from '../../scorer-definition.ts';
import { PANEL_OPTIONS, PANEL_ROWS } from './panel-options.ts';

/** The scorer `panel` of rules. */
export const panelDefinition = defineScorer({
  name: 'panel',
  needsJudge: true,
  rows: Object.keys(PANEL_ROWS),
  rowFacts: PANEL_ROWS,
  measures: 'several qualities of the answer, sentence by sentence, in one question to the judge',
  options: PANEL_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./panel-scorer.ts')).createPanelScorer({ model: judge, options }),
});
