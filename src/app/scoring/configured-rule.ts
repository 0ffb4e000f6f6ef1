import { checkValue, conditionsSchema, durationMs, type Rule as ConfiguredRule } from '../config/index.ts';
import { z } from 'zod';
import type { BoundScorer, Conditions, Limits, Rule, Where } from '../../scoring/select/rule.ts';
import type { PriorityReason } from '../../scoring/select/sample-trace.ts';

/** Converts a rule of the configuration. Absent conditions stay absent, because the rule's version is a hash of them. */
export function buildConfiguredRule(
  { where, sample, ...rule }: ConfiguredRule,
  scorers: readonly BoundScorer[],
): Rule {
  const { rate, always } = sample;
  const plan = { rate, always: always.map(readReason) };
  return { ...rule, scorers, sample: plan, ...(where === undefined ? {} : { where: buildWhere(where) }) };
}

type ConfiguredReason = ConfiguredRule['sample']['always'][number];

/** Reads a reason. The schema has checked that an object has exactly one key. */
function readReason(reason: ConfiguredReason): PriorityReason {
  if (typeof reason === 'string') {
    return reason;
  }
  const { slow, costly, tokens, newVersion = 0 } = reason;
  if (slow !== undefined) {
    return { slowMs: durationMs(slow) };
  }
  if (costly !== undefined) {
    return { costlyUsd: costly };
  }
  return tokens === undefined ? { newVersion } : { tokens };
}

type ConfiguredWhere = NonNullable<ConfiguredRule['where']>;

/** Reads conditions that are written as in a rule. Throws an `InvalidInputError` that names each fault. */
export function readWhere(where: unknown): Where {
  return buildWhere(checkValue(z.object({ where: conditionsSchema }), { where }).where);
}

function buildWhere({ not, ...conditions }: ConfiguredWhere): Where {
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
