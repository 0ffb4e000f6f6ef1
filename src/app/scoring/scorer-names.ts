import { PREBUILT_SCORERS } from '../../components.ts';
import { nearest } from '../../domain/nearest.ts';
import type { Config } from '../config/index.ts';

/** Returns the scorers that a rule of this configuration can name. */
export function listConfiguredScorers(config: Config): Set<string> {
  return new Set([...PREBUILT_SCORERS.map(({ name }) => name), ...Object.keys(config.scorers)]);
}

/** Finds the entry of a scorer, and the prebuilt scorer that it is or uses; both are undefined for an unknown name. */
export function findScorerEntry(name: string, { scorers }: Pick<Config, 'scorers'>) {
  const entry = Object.hasOwn(scorers, name) ? scorers[name] : undefined;
  const prebuilt =
    entry?.module === undefined
      ? PREBUILT_SCORERS.find((scorer) => scorer.name === (entry?.use ?? name))
      : undefined;
  return { entry, prebuilt };
}

/** Says that a scorer is not known, and which known one has the nearest name. */
export function describeUnknownScorer(name: string, known: ReadonlySet<string>): string {
  const meant = nearest(name, known);
  const hint =
    meant === undefined ? `the scorers are ${[...known].sort().join(', ')}` : `did you mean ${meant}?`;
  return `there is no scorer ${name}; ${hint}`;
}
