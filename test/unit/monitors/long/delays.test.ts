import { describe, expect, it } from 'vitest';
import { mostDelay, mostSpread } from '../../../bench/drift/goals.ts';
import { quantile } from '../../../bench/drift/stream-record.ts';
import { delays, DRIFT, buildReference, repeated } from '../../../support/monitors/drift-simulation.ts';
import { FAMILIES, type Family } from '../../../support/builders/score-streams.ts';

const SIMULATION_MS = 600_000;

describe('drift, after a fall of the mean', () => {
  it.each([6, 60, 600].flatMap((perHour) => FAMILIES.map((family) => ({ family, perHour }))))(
    'finds 0.1 within the scores that are its goal, and 0.2 within 100 (150 at 600 an hour): $family at $perHour an hour',
    (stream) => {
      const found = repeated(stream, computeRepetitions(stream), (trial) => {
        const reference = buildReference(trial);
        const scoresUntil = (drop: number): number =>
          delays(trial, drop, reference, [DRIFT])[0] ?? Number.NaN;
        return [{ small: scoresUntil(0.1), large: scoresUntil(0.2) }];
      });
      const small = found.map((one) => one.small);
      expect(quantile(small, 0.5)).toBeLessThanOrEqual(mostDelay(stream));
      expect(quantile(small, 0.9)).toBeLessThanOrEqual(mostSpread(stream) * mostDelay(stream));
      const large = found.map((one) => one.large);
      expect(quantile(large, 0.5)).toBeLessThanOrEqual(stream.perHour > 60 ? 150 : 100);
    },
    SIMULATION_MS,
  );
});

/** More where scores are spread most, so that chance does not decide. */
function computeRepetitions({
  family,
  perHour,
}: {
  readonly family: Family;
  readonly perHour: number;
}): number {
  return perHour > 60 ? 10 : family === 'infl' ? 100 : 30;
}
