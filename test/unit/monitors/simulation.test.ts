import { describe, expect, it } from 'vitest';
import { driftDetector } from '../../../src/monitors/detectors/drift.ts';
import { mostDelay, mostSpread } from '../../bench/drift/goals.ts';
import { firedEach, quantile } from '../../bench/drift/stream-record.ts';
import { contenderOf, delays, incident, quietMonth, referenceOf } from '../../support/drift-simulation.ts';
import { ONE_SERIES } from '../../support/fold-scores.ts';
import { FAMILIES, type Family } from '../../support/score-streams.ts';

const DRIFT = contenderOf(
  'drift',
  driftDetector({
    tolerance: 0.02,
    reference: { days: 14, minScores: 300, minDays: 3 },
    direction: 'down',
    thresholds: ONE_SERIES,
  }),
);
const SIMULATION_MS = 600_000;
const QUIET_SERIES = 25;
const INCIDENTS = 20;
const FAMILIES_OF_STEADY_MEAN = FAMILIES.filter((family) => family !== 'wobble');

function repeated<Result>(
  stream: { readonly family: Family; readonly perHour: number },
  times: number,
  watch: (trial: { family: Family; perHour: number; seed: number }) => readonly Result[],
): Result[] {
  return Array.from({ length: times }, (_, index) => watch({ ...stream, seed: index + 1 })).flat();
}

function falseAlarms(family: Family, perHour: number): number {
  return firedEach(
    repeated({ family, perHour }, QUIET_SERIES, (trial) => quietMonth(trial, referenceOf(trial), [DRIFT])),
  );
}

describe('drift, over simulated months', () => {
  it.each([6, 60])(
    'raises a false alarm in at most one series of a hundred in 30 days at %i scores an hour',
    (perHour) => {
      const each = FAMILIES_OF_STEADY_MEAN.map((family) => falseAlarms(family, perHour));
      expect(each.reduce((sum, alarms) => sum + alarms, 0) / each.length).toBeLessThanOrEqual(0.01);
    },
    SIMULATION_MS,
  );

  it.each([6, 60])(
    'raises a false alarm in at most one series of twenty in 30 days at %i scores an hour where the mean wanders by itself',
    (perHour) => {
      expect(falseAlarms('wobble', perHour)).toBeLessThanOrEqual(0.05);
    },
    SIMULATION_MS,
  );

  it.each([6, 60])(
    'tells of five days with a mean lower by 0.1 once, and of their end once, at %i scores an hour',
    (perHour) => {
      const seen = FAMILIES.flatMap((family) =>
        repeated({ family, perHour }, INCIDENTS, (trial) => incident(trial, referenceOf(trial), [DRIFT])),
      );
      const missed = seen.filter(({ during }) => during.fired === 0);
      expect(missed.length / seen.length).toBeLessThanOrEqual(0.02);
      const all = seen.flatMap(({ during, around }) => [during, around]);
      const fired = all.reduce((sum, one) => sum + one.fired, 0);
      expect(fired / seen.length).toBeLessThanOrEqual(1.05);
      expect(all.reduce((sum, one) => sum + one.ended, 0)).toBe(fired);
    },
    SIMULATION_MS,
  );
});

describe('drift, after a fall of the mean', () => {
  it.each([6, 60, 600].flatMap((perHour) => FAMILIES.map((family) => ({ family, perHour }))))(
    'finds 0.1 within the scores that are its goal, and 0.2 within 100 (150 at 600 an hour): $family at $perHour an hour',
    (stream) => {
      const found = repeated(stream, repetitionsOf(stream), (trial) => {
        const reference = referenceOf(trial);
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
function repetitionsOf({ family, perHour }: { readonly family: Family; readonly perHour: number }): number {
  return perHour > 60 ? 10 : family === 'infl' ? 100 : 30;
}
