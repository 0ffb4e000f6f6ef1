import type { Config } from '../../app/config/index.ts';
import { describeUnknownRule } from '../../app/scoring/rule-names.ts';
import { UsageError } from '../exit-codes.ts';

/** Throws a `UsageError` for rules that the configuration does not have. The error suggests the nearest name. */
export function requireRules(names: readonly string[], { rules }: Pick<Config, 'rules'>): void {
  const known = rules.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(describeUnknownRule(unknown, known));
  }
}
