import {
  checkGiven,
  checkOptions,
  isPositiveNumber,
  isTextList,
} from '../prebuilt/shared/checked-options.ts';
import type { OptionRules } from '../prebuilt/shared/checked-options.ts';

/** Checks of a metric's options, by name. */
export const SCALE: OptionRules = { scale: isPositiveNumber };
export const CONTEXT_AND_SCALE: OptionRules = { context: isTextList, scale: isPositiveNumber };
export const INSTRUCTIONS_AND_SCALE: OptionRules = { instructions: isTextList, scale: isPositiveNumber };

/** Checks the options of a metric. Throws `ScorerError` for an option that is unknown, missing or of the wrong type. */
export function checkedMetricOptions<T extends object>(
  metric: string,
  options: T | undefined,
  rules: OptionRules,
  needed: readonly string[] = [],
): Partial<T> {
  const given: Partial<T> = options ?? {};
  checkOptions(metric, given, rules);
  checkGiven(metric, given, needed);
  return given;
}
