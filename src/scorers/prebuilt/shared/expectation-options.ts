import { isBoolean, isTextList } from './checked-options.ts';
import type { OptionRules } from './checked-options.ts';
import { isObject } from '../../../domain/unknown-values.ts';

const ORDERINGS: ReadonlySet<unknown> = new Set(['strict', 'relaxed', 'unordered']);

const isStep = (value: unknown): boolean => isObject(value) && typeof value['name'] === 'string';
const isNumber = { fits: (value: unknown) => typeof value === 'number', is: 'a number' };

/** A list of expected steps. */
const isStepList = {
  fits: (value: unknown) => Array.isArray(value) && value.every(isStep),
  is: 'a list of steps, each with a name',
};

/** Steps to be taken, as a list or as `{ steps }`. */
export const isExpectedSteps = {
  fits: (value: unknown) => isStepList.fits(isObject(value) && 'steps' in value ? value['steps'] : value),
  is: 'a list of steps, each with a name, or { steps: […] }',
};

/** Options of older comparisons that have no effect: `ordering` decides, and fields are compared when they are given. */
export const FORMER_OPTIONS: readonly string[] = ['strictOrder', 'compareStepData'];

/** Options that compare the steps with the expected steps. */
export const COMPARISON_RULES: OptionRules = {
  ordering: { fits: (value) => ORDERINGS.has(value), is: '"strict", "relaxed" or "unordered"' },
  allowRepeatedSteps: isBoolean,
};

/** Options of an expected trajectory. An invalid budget fails the run, like one in the expectation of a run. */
export const EXPECTATION_RULES: OptionRules = {
  steps: isStepList,
  ...COMPARISON_RULES,
  maxSteps: isNumber,
  maxTotalTokens: isNumber,
  maxTotalDurationMs: isNumber,
  noRedundantCalls: isBoolean,
  blacklistedTools: isTextList,
  blacklistedSequences: {
    fits: (value) => Array.isArray(value) && value.every(isTextList.fits),
    is: 'a list of lists of names',
  },
  maxRetriesPerTool: isNumber,
};
