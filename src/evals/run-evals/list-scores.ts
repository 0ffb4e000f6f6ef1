import { AppError } from '../../domain/errors.ts';
import type { Scorer, ScorerRunResult } from '../scorer.ts';
import type { NamedThresholds, ThresholdConfig } from './eval-config.ts';

/** One score of a result. */
export interface EvalScore {
  /** Id of the scorer, or the score's own name where the scorer gives several. */
  readonly name: string;
  readonly score: number;
  readonly threshold: ThresholdConfig | undefined;
}

/**
 * Lists the scores of a result with their thresholds; empty for a run that could not be scored. Scorers may be foreign code, so
 * everything is checked: throws `AppError` for a result without a score, for a score that is no finite number and for a
 * threshold without a score.
 */
export function listScores(
  scorer: Scorer,
  threshold: ThresholdConfig | NamedThresholds | undefined,
  result: ScorerRunResult,
): EvalScore[] {
  if (typeof result !== 'object' || result === null) {
    throw refused(
      `run() of scorer "${scorer.id}" gave ${result === null ? 'null' : typeof result}, no result`,
    );
  }
  if (result.notScorable !== undefined) {
    return [];
  }
  const own = result.score === undefined ? [] : [{ name: scorer.id, score: result.score }];
  const scores = [...own, ...(result.scores ?? []).map(({ name, score }) => ({ name, score }))];
  if (scores.length === 0) {
    throw refused(`run() of scorer "${scorer.id}" gave no score`);
  }
  const bad = scores.find(({ score }) => !Number.isFinite(score));
  if (bad !== undefined) {
    const shown = typeof bad.score === 'number' ? String(bad.score) : JSON.stringify(bad.score);
    throw refused(`the score "${bad.name}" is ${shown}, not a finite number`);
  }
  const byName: NamedThresholds = isNamed(threshold)
    ? threshold
    : Object.fromEntries(threshold === undefined ? [] : [[scorer.id, threshold]]);
  const names = scores.map(({ name }) => name);
  const missing = Object.keys(byName).find((name) => !names.includes(name));
  if (missing !== undefined) {
    const meant = `give thresholds by name, { "${names[0]}": 0.9 }; its scores are ${names.join(', ')}`;
    throw refused(`scorer "${scorer.id}" gave no score "${missing}" for its threshold: ${meant}`);
  }
  return scores.map(({ name, score }) => ({ name, score, threshold: byName[name] }));
}

/** True for thresholds by score name. */
export function isNamed(
  threshold: ThresholdConfig | NamedThresholds | undefined,
): threshold is NamedThresholds {
  return (
    typeof threshold === 'object' && Object.keys(threshold).some((name) => name !== 'min' && name !== 'max')
  );
}

function refused(message: string): AppError {
  return new AppError(message, { code: 'scorer_failed', stage: 'judge', retryable: false });
}
