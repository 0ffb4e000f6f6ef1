import { RequestError } from '../../domain/errors.ts';
import { nearest } from '../../domain/nearest.ts';

/** Says that a rule is not known, and which known one has the nearest name. */
export function describeUnknownRule(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  const hint = meant === undefined ? `the rules are ${known.join(', ') || 'none'}` : `did you mean ${meant}?`;
  return `there is no rule ${name}; ${hint}`;
}

/** Finds a rule by its name. Throws a `RequestError` when there is none. */
export function findRule<Rule extends { readonly name: string }>(rules: readonly Rule[], name: string): Rule {
  const found = rules.find((rule) => rule.name === name);
  if (found === undefined) {
    throw new RequestError(
      `rule: ${describeUnknownRule(
        name,
        rules.map((rule) => rule.name),
      )}`,
    );
  }
  return found;
}
