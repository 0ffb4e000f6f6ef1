import { defineScorer } from '../../scorer-definition.ts';
import { reasonOption, SIGHT_OPTIONS } from '../shared/described-options.ts';
import { isObject } from '../../../domain/unknown-values.ts';

/** The tools that an agent has. */
export const AVAILABLE_TOOLS_OPTION = {
  fits: (value: unknown) =>
    Array.isArray(value) &&
    value.every(
      (tool) => isObject(tool) && typeof tool['id'] === 'string' && typeof tool['description'] === 'string',
    ),
  is: 'a list of { id, description }',
  means:
    '`{ id, description, parameters }` of every tool that the agent has; else those that the trace says it was offered, with their parameters',
};

/** Options beside the tools. */
export const TOOL_CALL_OPTIONS = { ...SIGHT_OPTIONS, reason: reasonOption };

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
