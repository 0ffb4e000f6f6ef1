import { PREBUILT_SCORERS } from '../../components.ts';
import type { Config } from '../../app/config/index.ts';
import { nearest } from '../../domain/nearest.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import { UsageError } from '../exit-codes.ts';
import type { Store } from '../../store/contracts/store.ts';

/** Returns the scorers that a rule of this configuration can name. */
function configuredNames(config: Config): Set<string> {
  return new Set([...PREBUILT_SCORERS.map(({ name }) => name), ...Object.keys(config.scorers)]);
}

/** Throws a `UsageError` for scorers that cannot run under this configuration. The error suggests the nearest name. */
export function requireScorers(names: readonly string[], config: Config): void {
  const known = configuredNames(config);
  for (const name of names) {
    if (!known.has(name)) {
      throw unknownScorer(name, known);
    }
  }
}

/**
 * Returns the names of the score rows that a filter means: the rows of a scorer that writes several (`grounding`, `panel`), and
 * names stored under an earlier configuration. Throws a `UsageError` for a name that is neither known nor stored.
 */
export async function listRowNames(
  name: string,
  config: Config,
  store: Pick<Store, 'scorerNames'>,
): Promise<string[]> {
  const configured = configuredNames(config);
  const declared = PREBUILT_SCORERS.flatMap(({ rows = [] }) => rows);
  const rows = new Set([...declared, ...(await store.scorerNames())]);
  if (configured.has(name)) {
    return [...new Set([name, ...rows])].filter((row) => findRowScorer(row, configured) === name);
  }
  if (rows.has(name)) {
    return [name];
  }
  throw unknownScorer(name, new Set([...configured, ...rows]));
}

function unknownScorer(name: string, known: ReadonlySet<string>): UsageError {
  const meant = nearest(name, known);
  const hint =
    meant === undefined ? `the scorers are ${[...known].sort().join(', ')}` : `did you mean ${meant}?`;
  return new UsageError(`there is no scorer ${name}; ${hint}`);
}
