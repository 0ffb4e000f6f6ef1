import { RequestError } from '../../domain/errors.ts';
import type { Config } from '../../configuration.ts';
import {
  describeUnknownRule,
  describeUnknownScorer,
  listConfiguredScorers,
} from '../../scoring/setup/scorer-names.ts';
import { readRowNames } from '../../api/reads/configuration.ts';
import type { Store } from '../../store/store.ts';

/** Throws a `RequestError` for rules that the configuration does not have. The error suggests the nearest name. */
export function requireRules(names: readonly string[], { rules }: Pick<Config, 'rules'>): void {
  const known = rules.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new RequestError(describeUnknownRule(unknown, known));
  }
}

/** Throws a `RequestError` for scorers that cannot run under this configuration. The error suggests the nearest name. */
export function requireScorers(names: readonly string[], config: Config): void {
  const known = listConfiguredScorers(config);
  for (const name of names) {
    if (!known.has(name)) {
      throw new RequestError(describeUnknownScorer(name, known));
    }
  }
}

/**
 * Returns the names of the score rows that the names of a filter mean: the rows of a scorer that writes several (`grounding`, `panel`), and
 * names stored under an earlier configuration. Throws a `RequestError` for a name that is neither known nor stored.
 */
export async function listRowNames(
  names: readonly string[],
  config: Config,
  store: Pick<Store, 'scorerNames'>,
): Promise<string[]> {
  const rows = await readRowNames(config, store);
  return names.flatMap((name) => {
    const found = rows.of(name);
    if (found.length === 0) {
      throw new RequestError(describeUnknownScorer(name, rows.known));
    }
    return found;
  });
}
