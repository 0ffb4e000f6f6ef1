import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { createConfigError } from '../faults/config-issue.ts';
import { toJsonSchema } from '../json-schema.ts';
import { Rules, Scorers, type Rule, type Scorer } from '../schema/rules.ts';
import { readCheckedFile } from './checked-file.ts';

/** Rules and scorers of a file that is no whole configuration. */
export interface RuleFile {
  readonly rules: readonly Rule[];
  /** By name; paths of modules are absolute. */
  readonly scorers: Readonly<Record<string, Scorer>>;
}

const ruleFileSchema = z.strictObject({ rules: Rules.min(1), scorers: Scorers.prefault({}) });

/** Reads a file with `rules`, and `scorers` if they need new ones. Throws a `ConfigError` that lists every fault with its line. */
export async function loadRuleFile(path: string): Promise<RuleFile> {
  const { value, issues } = await readCheckedFile(path, {
    schema: ruleFileSchema,
    jsonSchema: toJsonSchema(ruleFileSchema),
  });
  if (issues.length > 0 || value === undefined) {
    throw createConfigError(path, issues, () => ({ kind: 'default', where: '' }));
  }
  const folder = dirname(path);
  const scorers = Object.entries(value.scorers).map(([name, entry]): [string, Scorer] => [
    name,
    entry.module === undefined ? entry : { ...entry, module: resolve(folder, entry.module) },
  ]);
  return { rules: value.rules, scorers: Object.fromEntries(scorers) };
}
