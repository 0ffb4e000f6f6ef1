import { defineScorer } from '../../scorer-definition.ts';
import { findNoExpectation, TOOL_CALL_ACCURACY_OPTIONS } from './tool-call-accuracy-code-options.ts';

/** The scorer `tool-call-accuracy-code` of rules. */
export const toolCallAccuracyCodeDefinition = defineScorer({
  name: 'tool-call-accuracy-code',
  needsJudge: false,
  measures: 'whether the expected tools were called',
  options: TOOL_CALL_ACCURACY_OPTIONS,
  findFault: findNoExpectation,
  create: async ({ options }) =>
    (await import('./tool-call-accuracy-code-scorer.ts')).createToolCallAccuracyScorerCode(options),
});
