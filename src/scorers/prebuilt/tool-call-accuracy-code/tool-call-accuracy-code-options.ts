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

/** Says what is missing where no tool is expected. */
export function findNoExpectation(options: {
  readonly expectedTool?: unknown;
  readonly expectedToolOrder?: unknown;
}): string | undefined {
  return !options.expectedTool && options.expectedToolOrder === undefined
    ? 'needs options.expectedTool or options.expectedToolOrder'
    : undefined;
}
