import { describe, expect, it } from 'vitest';
import { createDetector } from '../../../../src/monitors/rule.ts';
import {
  bucketAt,
  DAY_MS,
  foldAll,
  MONITOR_START_MS,
  ONE_SERIES,
  steadyBuckets,
} from '../../../support/monitors/fold-scores.ts';
import { BUCKET_MS, FAMILIES, scoreBuckets } from '../../../support/builders/score-streams.ts';

const PER_DAY = DAY_MS / BUCKET_MS;
const REFERENCE = { days: 14, minScores: 300, minDays: 3 };
const kinds = (transitions: readonly { readonly to: string }[]): string[] => transitions.map(({ to }) => to);

describe('floor', () => {
  const detector = createDetector({ kind: 'floor', minimum: 0.7 }, ONE_SERIES);

  it('needs no reference: scores below the minimum from the start make it fire', () => {
    const { transitions, finding } = foldAll(detector, steadyBuckets(0, 300, [0.5, 0.7]));
    expect(kinds(transitions)).toEqual(['firing']);
    expect(finding).toMatchObject({ before: 0.7, changeBeganMs: MONITOR_START_MS });
    expect(finding?.after).toBeCloseTo(0.6, 6);
  });

  it('is quiet on scores that keep the minimum, however little above', () => {
    const stream = scoreBuckets({ family: 'infl', perHour: 60, days: 30, seed: 3 });
    expect(foldAll(createDetector({ kind: 'floor', minimum: 0.84 }, ONE_SERIES), stream).transitions).toEqual(
      [],
    );
  });

  it('takes a minimum that is exactly met for met: the change begins with the scores below it', () => {
    // In floating point, three times the minimum is a little more than the sum of the scores.
    const stream = [...steadyBuckets(0, 300, [0.3, 0, 0]), ...steadyBuckets(300, 600, [0, 0, 0])];
    const { finding } = foldAll(createDetector({ kind: 'floor', minimum: 0.1 }, ONE_SERIES), stream);
    expect(finding).toMatchObject({ after: 0, changeBeganMs: MONITOR_START_MS + 300 * BUCKET_MS });
  });

  it('ends when the mean is back', () => {
    const stream = [...steadyBuckets(0, 300, [0.5, 0.7]), ...steadyBuckets(300, 900, [0.9, 0.8])];
    expect(kinds(foldAll(detector, stream).transitions)).toEqual(['firing', 'ok']);
  });
});

describe('rate', () => {
  const detector = createDetector({ kind: 'rate', below: 0.5, maxRate: 0.05 }, ONE_SERIES);

  it('counts scores below the line as rates', () => {
    const tenths = [0.4, 1, 1, 1, 1, 0.5, 1, 1, 1, 1];
    const { transitions, finding } = foldAll(detector, steadyBuckets(0, 400, tenths));
    expect(kinds(transitions)).toEqual(['firing']);
    expect(finding?.before).toBeCloseTo(0.05, 6);
    expect(finding?.after).toBeCloseTo(0.1, 2);
  });

  it('is quiet at the very rate that is allowed', () => {
    const stream = scoreBuckets({ family: 'bin97', perHour: 60, days: 30, seed: 5 });
    expect(
      foldAll(createDetector({ kind: 'rate', below: 0.5, maxRate: 0.03 }, ONE_SERIES), stream).transitions,
    ).toEqual([]);
  });
});

describe('distribution', () => {
  const detector = createDetector(
    { kind: 'distribution', tolerance: 0.03, reference: REFERENCE },
    ONE_SERIES,
  );

  it('finds scores that move to both ends at an equal mean, and names the cut', () => {
    const stream = [
      ...steadyBuckets(0, 15 * PER_DAY, [0.4, 0.5, 0.6]),
      ...steadyBuckets(15 * PER_DAY, 18 * PER_DAY, [0, 0.5, 1]),
    ];
    const { transitions, finding } = foldAll(detector, stream);
    expect(kinds(transitions)).toEqual(['firing']);
    expect(finding?.cut).toBe(0.399);
    expect(finding?.before).toBeCloseTo(0, 6);
    expect(finding?.after).toBeCloseTo(1 / 3, 1);
  });

  it.each(FAMILIES)('raises no alert on quiet days of %s', (family) => {
    const stream = scoreBuckets({ family, perHour: 20, days: 40, seed: 9, startMs: MONITOR_START_MS });
    expect(foldAll(detector, stream).transitions).toEqual([]);
  });

  it('is quiet on scores of one value, and fires when they leave it', () => {
    const quiet = foldAll(detector, steadyBuckets(0, 20 * PER_DAY, [1]));
    expect(quiet.transitions).toEqual([]);
    const moved = steadyBuckets(20 * PER_DAY, 21 * PER_DAY, [0.9]);
    expect(kinds(foldAll(detector, moved, { from: quiet.state }).transitions)).toEqual(['firing']);
  });

  it('ends when the shape is back', () => {
    const stream = [
      ...steadyBuckets(0, 15 * PER_DAY, [0.4, 0.5, 0.6]),
      ...steadyBuckets(15 * PER_DAY, 18 * PER_DAY, [0, 0.5, 1]),
      ...steadyBuckets(18 * PER_DAY, 25 * PER_DAY, [0.4, 0.5, 0.6]),
    ];
    expect(kinds(foldAll(detector, stream).transitions)).toEqual(['firing', 'ok']);
  });
});

describe('threshold', () => {
  const detector = createDetector(
    { kind: 'threshold', minimum: 0.7, recovery: 0.8, windowMs: 3_600_000, minScores: 20 },
    ONE_SERIES,
  );

  it('fires on the mean of its window and ends at the recovery line, not at the minimum', () => {
    const low = steadyBuckets(0, 12, [0.6, 0.6]);
    const between = steadyBuckets(12, 48, [0.75, 0.75]);
    const high = steadyBuckets(48, 60, [0.9, 0.9]);
    const { transitions } = foldAll(detector, [...low, ...between, ...high]);
    expect(kinds(transitions)).toEqual(['firing', 'ok']);
    expect(transitions[1]?.atMs).toBeGreaterThan(MONITOR_START_MS + 48 * BUCKET_MS);
  });

  it('is reported with the scores of the window in which it fires, not of the window in which it was first below', () => {
    const stream = [...steadyBuckets(0, 12, [0.69, 0.69]), ...steadyBuckets(12, 60, [0.42])];
    const terms = { forMs: 2 * 3_600_000, keepFiringForMs: 0, noDataAfterMs: DAY_MS, intervalMs: BUCKET_MS };
    const { finding } = foldAll(
      createDetector(
        { kind: 'threshold', minimum: 0.7, recovery: 0.8, windowMs: 3_600_000, minScores: 10 },
        ONE_SERIES,
      ),
      stream,
      { terms },
    );
    expect(finding).toMatchObject({ changeBeganMs: MONITOR_START_MS, before: 0.7, count: 12 });
    expect(finding?.after).toBeCloseTo(0.42, 6);
  });

  it('does not change its state on fewer scores than it needs', () => {
    expect(foldAll(detector, steadyBuckets(0, 400, [0.1])).transitions).toEqual([]);
    const fired = foldAll(detector, steadyBuckets(0, 12, [0.6, 0.6]));
    const silent = foldAll(detector, [bucketAt(40, [1])], { from: fired.state });
    expect(silent.state.phase).toBe('firing');
  });

  it.each([
    ['ends when its newest scores have recovered', [0.95], ['firing', 'ok']],
    ['goes on while its newest scores are low', [0.2], ['firing']],
  ])('on traffic with fewer scores in a window than it needs %s', (_what, scores, expected) => {
    const hourly = Array.from({ length: 48 }, (_, hour) => bucketAt(12 + hour * 12, scores));
    const { transitions } = foldAll(detector, [bucketAt(0, Array<number>(30).fill(0.1)), ...hourly]);
    expect(kinds(transitions)).toEqual(expected);
  });
});

describe('no_data', () => {
  const detector = createDetector({ kind: 'no_data', afterMs: 3_600_000 }, ONE_SERIES);

  it('fires an hour after the last score and ends with the next', () => {
    const { transitions } = foldAll(detector, [bucketAt(0, [0.5]), bucketAt(30, []), bucketAt(31, [0.5])]);
    expect(transitions.map(({ to, atMs }) => [to, (atMs - MONITOR_START_MS) / BUCKET_MS])).toEqual([
      ['firing', 13],
      ['ok', 32],
    ]);
  });

  it('ends for an agent that stays silent for a week more: it is retired', () => {
    const { transitions, state } = foldAll(detector, [bucketAt(0, [0.5]), bucketAt(30 * PER_DAY, [])]);
    expect(transitions.map(({ to, atMs }) => [to, (atMs - MONITOR_START_MS) / BUCKET_MS])).toEqual([
      ['firing', 13],
      ['ok', 13 + 7 * PER_DAY],
    ]);
    expect(state.phase).toBe('no_data');
  });

  it('does not miss what never came', () => {
    expect(foldAll(detector, [bucketAt(0, []), bucketAt(600, [])]).transitions).toEqual([]);
  });
});

describe('scorer_errors and coverage', () => {
  it('scorer_errors fires when more attempts fail than allowed, and does not take a failure for a low score', () => {
    const detector = createDetector({ kind: 'scorer_errors', maxRate: 0.1 }, ONE_SERIES);
    const failing = Array.from({ length: 60 }, (_, index) => bucketAt(index, [1, 1], { failed: 2 }));
    const { transitions, finding } = foldAll(detector, failing);
    expect(kinds(transitions)).toEqual(['firing']);
    expect(finding?.after).toBeCloseTo(0.5, 6);
    expect(foldAll(createDetector({ kind: 'floor', minimum: 0.7 }, ONE_SERIES), failing).transitions).toEqual(
      [],
    );
  });

  it('coverage counts what waits as not covered', () => {
    const detector = createDetector({ kind: 'coverage', minimum: 0.9 }, ONE_SERIES);
    const waiting = Array.from({ length: 60 }, (_, index) => bucketAt(index, [1], { deferred: 1 }));
    expect(kinds(foldAll(detector, waiting).transitions)).toEqual(['firing']);
    expect(foldAll(detector, steadyBuckets(0, 400, [1])).transitions).toEqual([]);
  });
});

describe('a series without scores', () => {
  const detector = createDetector({ kind: 'floor', minimum: 0.7 }, ONE_SERIES);

  it('has no data, which is not a score of 0', () => {
    const { state, transitions } = foldAll(detector, [bucketAt(0, [0.9]), bucketAt(2 * PER_DAY, [])]);
    expect(state.phase).toBe('no_data');
    expect(transitions).toEqual([]);
  });

  it('has a scorer error where attempts failed meanwhile', () => {
    const failed = bucketAt(PER_DAY, [], { failed: 3 });
    const { state } = foldAll(detector, [bucketAt(0, [0.9]), failed, bucketAt(2 * PER_DAY, [])]);
    expect(state.phase).toBe('scorer_error');
  });
});
