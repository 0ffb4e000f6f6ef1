import { ScorerError } from '../../../evals/scorer-error.ts';

/** The highest score, 1 unless given. Refuses what is not a positive finite number, 0 included. */
export function checkedScale(scorerId: string, scale: number | undefined): number {
  const value = scale ?? 1;
  if (!Number.isFinite(value) || value <= 0) {
    throw new ScorerError(
      `Scorer "${scorerId}": options.scale is ${String(scale)}; it must be a number above 0`,
      {
        id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_OPTIONS',
        details: { scorerId, option: 'scale' },
      },
    );
  }
  return value;
}
