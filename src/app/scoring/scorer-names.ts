import { PREBUILT_SCORERS } from '../../components.ts';
import { nearest } from '../../domain/nearest.ts';
import type { Config } from '../config/index.ts';

/** Returns the scorers that a rule of this configuration can name. */
export function listConfiguredScorers(config: Config): Set<string> {
  return new Set([...PREBUILT_SCORERS.map(({ name }) => name), ...Object.keys(config.scorers)]);
}

/** Says that a scorer is not known, and which known one has the nearest name. */
export function describeUnknownScorer(name: string, known: ReadonlySet<string>): string {
  const meant = nearest(name, known);
  const hint =
    meant === undefined ? `the scorers are ${[...known].sort().join(', ')}` : `did you mean ${meant}?`;
  return `there is no scorer ${name}; ${hint}`;
}
