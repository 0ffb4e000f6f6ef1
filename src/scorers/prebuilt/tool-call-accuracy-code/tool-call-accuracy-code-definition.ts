import { defineScorer } from '../../scorer-definition.ts';
import { isBoolean, isText, isTextList } from '../shared/checked-options.ts';

/** Options of the scorer. */
export const TOOL_CALL_ACCURACY_OPTIONS = {
  expectedTool: {
    ...isText,
    means: 'the tool that must be called; this or `expectedToolOrder` is needed',
  },
  expectedToolOrder: {
    ...isTextList,
    means: 'the tools that must be called, in order; wins over `expectedTool`',
  },
  strictMode: { ...isBoolean, means: 'whether nothing else may be called (false)' },
};

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

/** Says what is missing where no tool is expected. */
export function findNoExpectation(options: {
  readonly expectedTool?: unknown;
  readonly expectedToolOrder?: unknown;
}): string | undefined {
  return !options.expectedTool && options.expectedToolOrder === undefined
    ? 'needs options.expectedTool or options.expectedToolOrder'
    : undefined;
}
