import { durationMs, type Rule as ConfiguredRule } from './config/index.ts';
import type { BoundScorer, Conditions, Limits, Rule, Where } from '../scoring/select/rule.ts';
import type { PriorityReason } from '../scoring/select/sample-trace.ts';

/** Converts a rule of the configuration. Absent conditions stay absent, because the rule's version is a hash of them. */
export function buildConfiguredRule(
  { where, sample, ...rule }: ConfiguredRule,
  scorers: readonly BoundScorer[],
): Rule {
  const { rate, always } = sample;
  const plan = { rate, always: always.map(readReason) };
  return { ...rule, scorers, sample: plan, ...(where === undefined ? {} : { where: readWhere(where) }) };
}

type ConfiguredReason = ConfiguredRule['sample']['always'][number];

/** Reads a reason. The schema has checked that a size has exactly one key. */
function readReason(reason: ConfiguredReason): PriorityReason {
  if (typeof reason === 'string') {
    return reason;
  }
  const { slow, costly, tokens = 0 } = reason;
  if (slow !== undefined) {
    return { slowMs: durationMs(slow) };
  }
  return costly === undefined ? { tokens } : { costlyUsd: costly };
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
