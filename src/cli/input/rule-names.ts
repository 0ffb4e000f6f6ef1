import { RequestError } from '../../domain/errors.ts';
import type { Config } from '../../configuration.ts';
import { describeUnknownRule } from '../../scoring/setup/scorer-names.ts';

/** Throws a `RequestError` for rules that the configuration does not have. The error suggests the nearest name. */
export function requireRules(names: readonly string[], { rules }: Pick<Config, 'rules'>): void {
  const known = rules.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new RequestError(describeUnknownRule(unknown, known));
  }
}
