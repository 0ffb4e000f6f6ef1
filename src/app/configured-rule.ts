import { durationMs, type Rule as ConfiguredRule } from './config/index.ts';
import type { BoundScorer, Conditions, Limits, Rule, Where } from '../scoring/select/rule.ts';

/** Converts a rule of the configuration. Absent conditions stay absent, because the rule's version is a hash of them. */
export function buildConfiguredRule(
  { where, ...rule }: ConfiguredRule,
  scorers: readonly BoundScorer[],
): Rule {
  return { ...rule, scorers, ...(where === undefined ? {} : { where: readWhere(where) }) };
}

type ConfiguredWhere = NonNullable<ConfiguredRule['where']>;

function readWhere({ not, ...conditions }: ConfiguredWhere): Where {
  return { ...readConditions(conditions), ...(not === undefined ? {} : { not: readConditions(not) }) };
}

function readConditions({ duration, ...others }: Omit<ConfiguredWhere, 'not'>): Conditions {
  return { ...others, ...(duration === undefined ? {} : { durationMs: readSpell(duration) }) };
}

function readSpell({ min, max }: { min?: string | undefined; max?: string | undefined }): Limits {
  return {
    ...(min === undefined ? {} : { min: durationMs(min) }),
    ...(max === undefined ? {} : { max: durationMs(max) }),
  };
}
