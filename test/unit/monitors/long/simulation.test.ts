import { describe, expect, it } from 'vitest';
import { firedEach } from '../../../bench/drift/stream-record.ts';
import {
  DRIFT,
  incident,
  lastingFall,
  quietMonth,
  buildReference,
  repeated,
} from '../../../support/monitors/drift-simulation.ts';
import { FAMILIES, type Family } from '../../../support/builders/score-streams.ts';

const SIMULATION_MS = 600_000;
const QUIET_SERIES = 25;
const INCIDENTS = 20;
const LASTING_FALLS = 20;
const FAMILIES_OF_STEADY_MEAN = FAMILIES.filter((family) => family !== 'wobble');

function falseAlarms(family: Family, perHour: number): number {
  return firedEach(
    repeated({ family, perHour }, QUIET_SERIES, (trial) => quietMonth(trial, buildReference(trial), [DRIFT])),
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
        repeated({ family, perHour }, INCIDENTS, (trial) => incident(trial, buildReference(trial), [DRIFT])),
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

  it.each([6, 60])(
    'tells of thirty days with a lower mean once, at %i scores an hour',
    (perHour) => {
      const seen = FAMILIES_OF_STEADY_MEAN.flatMap((family) =>
        repeated({ family, perHour }, LASTING_FALLS, (trial) => {
          const reference = buildReference(trial);
          return [0.1, 0.2].map((drop) => lastingFall(trial, drop, reference, DRIFT));
        }),
      );
      const found = seen.filter(({ fired }) => fired > 0);
      expect(found.length / seen.length).toBeGreaterThanOrEqual(0.98);
      expect(found.reduce((sum, { fired }) => sum + fired, 0) / found.length).toBeLessThanOrEqual(1.02);
      expect(found.filter(({ recovery }) => recovery === null || recovery === Infinity)).toEqual([]);
    },
    SIMULATION_MS,
  );
});
