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
