import { defineScorer } from '../../scorer-definition.ts';
import { AVAILABLE_TOOLS_OPTION, TOOL_CALL_OPTIONS } from './tool-call-accuracy-llm-options.ts';

/** The scorer `tool-call-accuracy-llm` of rules. */
export const toolCallAccuracyLlmDefinition = defineScorer({
  name: 'tool-call-accuracy-llm',
  needsJudge: true,
  measures: 'tool calls that were appropriate',
  options: {
    availableTools: AVAILABLE_TOOLS_OPTION,
    ...TOOL_CALL_OPTIONS,
  },
  create: async ({ judge, options: { availableTools, ...options } }) =>
    (await import('./tool-call-accuracy-llm-scorer.ts')).createToolCallAccuracyScorerLLM({
      model: judge,
      availableTools: availableTools as never,
      options,
    }),
});
