import { RequestError } from '../../domain/errors.ts';
import { InvalidArgumentError } from 'commander';
import { PREBUILT_SCORERS } from '../../components.ts';
import type { Config } from '../../configuration.ts';
import { describeUnknownScorer, listConfiguredScorers } from '../../scoring/setup/scorer-names.ts';
import { directScore } from '../../domain/agreement/directed-score.ts';
import { isBelow } from '../../domain/limits.ts';
import { formatCount } from '../../domain/plural.ts';
import type { Score } from '../../domain/score.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import { cleanLine } from '../show/clean-text.ts';

/** Least means of scorers by name, as directed scores: 0 is worst, 1 is best. */
export type Bars = ReadonlyMap<string, number>;

/** Collects bars: `--fail-under tone=0.6 --fail-under hallucination=0.9`. */
export function collectBars(text: string, previous?: Bars): Bars {
  const [, name = '', value = ''] = /^(.+)=([^=]+)$/su.exec(text.trim()) ?? [];
  const bar = Number(value);
  if (name === '' || value.trim() === '' || !(bar >= 0 && bar <= 1)) {
    throw new InvalidArgumentError('Write a scorer and a bar from 0 (worst) to 1 (best): hallucination=0.9.');
  }
  return new Map([...(previous ?? []), [name.trim(), bar]]);
}

export type BarCheck = ReturnType<typeof createBarCheck>;

/** Creates a check of bars. Throws a `RequestError` for a name that is no scorer of this configuration. */
export function createBarCheck(bars: Bars, config: Config) {
  const configured = listConfiguredScorers(config);
  const rows = PREBUILT_SCORERS.flatMap(({ rows: declared = [] }) => declared);
  const known = new Set([...configured, ...rows]);
  for (const name of bars.keys()) {
    if (!known.has(name)) {
      throw new RequestError(`--fail-under: ${describeUnknownScorer(name, known)}`);
    }
  }
  const means = new Map<string, { sum: number; count: number }>();
  return {
    add(scores: readonly Score[]): void {
      for (const score of scores) {
        const { sum, count } = means.get(score.scorer) ?? { sum: 0, count: 0 };
        means.set(score.scorer, { sum: sum + directScore(score.score, score), count: count + 1 });
      }
    },
    /** Describes each bar that is not met; a scorer without a score does not meet its bar. */
    listFaults: (): string[] =>
      [...bars].flatMap(([name, bar]) => {
        const found = [...means].filter(
          ([row]) => row === name || (configured.has(name) && findRowScorer(row, configured) === name),
        );
        if (found.length === 0) {
          return [`${cleanLine(name)} has no score, so its bar of ${bar} is not met`];
        }
        return found
          .filter(([, { sum, count }]) => isBelow(sum / count, bar))
          .map(
            ([row, { sum, count }]) =>
              `${cleanLine(row)} is below its bar of ${bar}: the mean of ${formatCount(count, 'score')} is ${(sum / count).toFixed(3)} (0 is worst, 1 is best)`,
          );
      }),
  };
}
