import { describe, expect, it } from 'vitest';
import { type AnyDetector, type Detection, createDetector } from '../../../src/monitors/rule.ts';
import {
  bucketAt,
  DAY_MS,
  foldAll,
  MONITOR_START_MS,
  ONE_SERIES,
  steadyBuckets,
} from '../../support/monitors/fold-scores.ts';
import { BUCKET_MS, FAMILIES, scoreBuckets } from '../../support/builders/score-streams.ts';
import { fc } from '../../support/fast-check.ts';

const PER_HOUR = 3_600_000 / BUCKET_MS;
const PER_DAY = DAY_MS / BUCKET_MS;
const REFERENCE = { days: 3, minScores: 100, minDays: 2 };

/** A detection of every kind. */
const DETECTIONS: { readonly [Kind in Detection['kind']]: Extract<Detection, { kind: Kind }> } = {
  drift: { kind: 'drift', tolerance: 0.02, reference: REFERENCE, direction: 'both' },
  floor: { kind: 'floor', minimum: 0.6 },
  rate: { kind: 'rate', below: 0.5, maxRate: 0.1 },
  distribution: { kind: 'distribution', tolerance: 0.03, reference: REFERENCE },
  threshold: { kind: 'threshold', minimum: 0.6, recovery: 0.7, windowMs: 3_600_000, minScores: 10 },
  no_data: { kind: 'no_data', afterMs: 7_200_000 },
  scorer_errors: { kind: 'scorer_errors', maxRate: 0.05 },
  coverage: { kind: 'coverage', minimum: 0.9 },
};
const EVERY = Object.values(DETECTIONS).map(
  (detection) => [detection.kind, createDetector(detection, ONE_SERIES)] as const,
);
/** Detectors that compare scores with a line of their own, not with the past. */
const WITH_A_LINE: readonly string[] = ['floor', 'rate', 'threshold'];

const kinds = (transitions: readonly { readonly to: string }[]): string[] => transitions.map(({ to }) => to);

/** Expects a state to survive JSON without losing a number. */
function survivesStorage(state: unknown): void {
  expect(JSON.parse(JSON.stringify(state))).toEqual(state);
}

describe.each(EVERY)('%s', (kind, detector: AnyDetector) => {
  it('is quiet on scores that are all 1', () => {
    const { transitions, state } = foldAll(detector, steadyBuckets(0, 8 * PER_DAY, [1, 1]));
    expect(transitions).toEqual([]);
    survivesStorage(state);
  });

  it('fires once on scores that are all 0 where they lie below a line, and is quiet where they are normal', () => {
    const { transitions, state } = foldAll(detector, steadyBuckets(0, 8 * PER_DAY, [0, 0]));
    expect(kinds(transitions)).toEqual(WITH_A_LINE.includes(kind) ? ['firing'] : []);
    survivesStorage(state);
  });

  it('is quiet on scores of two values whose shares stay', () => {
    const stream = scoreBuckets({ family: 'bin97', perHour: 60, days: 20, seed: 6 });
    const { transitions, state } = foldAll(detector, stream);
    expect(transitions).toEqual([]);
    survivesStorage(state);
  });

  it('has no value for an empty hour', () => {
    const buckets = [
      ...steadyBuckets(0, 5 * PER_DAY, [0.7, 0.9]),
      ...steadyBuckets(5 * PER_DAY + PER_HOUR, 6 * PER_DAY, [0.7, 0.9]),
    ];
    const { transitions, state } = foldAll(detector, buckets);
    expect(transitions).toEqual([]);
    expect(state.phase).toBe('ok');
    expect(state.checks).toBe(6 * PER_DAY);
  });

  it('counts scores that come doubled once', () => {
    const buckets = [...steadyBuckets(0, 4 * PER_DAY, [0.7, 0.9])];
    const once = foldAll(detector, buckets);
    const twice = foldAll(
      detector,
      buckets.flatMap((bucket) => [bucket, bucket]),
    );
    expect(twice.state).toEqual(once.state);
  });

  it('leaves out scores that come late, after their bucket was closed', () => {
    const { state } = foldAll(detector, steadyBuckets(0, 4 * PER_DAY, [0.7, 0.9]));
    const late = foldAll(detector, [bucketAt(PER_DAY, [0, 0, 0])], { from: state });
    expect(late.state).toEqual(state);
    expect(late.transitions).toEqual([]);
  });

  it('ends in the same state, with the same alerts, when it is replayed as when it goes on from what was stored', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...FAMILIES),
        fc.integer(),
        fc.array(fc.integer({ min: 1, max: 1500 }), { minLength: 1, maxLength: 3 }),
        (family, seed, cuts) => {
          const change = {
            atMs: MONITOR_START_MS + 4 * DAY_MS,
            untilMs: MONITOR_START_MS + 5 * DAY_MS,
            drop: 0.3,
          };
          const stream = { family, perHour: 20, days: 7, seed, startMs: MONITOR_START_MS, change };
          const buckets = [...scoreBuckets(stream)];
          const whole = foldAll(detector, buckets);
          let from: typeof whole.state | undefined;
          const transitions: unknown[] = [];
          const places = [0, ...cuts.toSorted((a, b) => a - b), buckets.length];
          for (const [index, place] of places.slice(0, -1).entries()) {
            const part = buckets.slice(place, places[index + 1]);
            const folded = foldAll(detector, part, from === undefined ? {} : { from });
            transitions.push(...folded.transitions);
            from = JSON.parse(JSON.stringify(folded.state));
          }
          expect(from).toEqual(whole.state);
          expect(transitions).toEqual(whole.transitions);
        },
      ),
      { numRuns: 8 },
    );
  });
});
