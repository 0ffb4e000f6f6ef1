import { describe, expect, it } from 'vitest';
import { driftDetector, type DriftTerms } from '../../../../src/monitors/detectors/drift.ts';
import {
  AT_ONCE,
  bucketAt,
  DAY_MS,
  foldAll,
  MONITOR_START_MS,
  ONE_SERIES,
  steadyBuckets,
} from '../../../support/monitors/fold-scores.ts';
import { BUCKET_MS, FAMILIES, scoreBuckets } from '../../../support/builders/score-streams.ts';

const TERMS: DriftTerms = {
  tolerance: 0.02,
  reference: { days: 14, minScores: 300, minDays: 3 },
  direction: 'down',
  thresholds: ONE_SERIES,
};
const PER_DAY = DAY_MS / BUCKET_MS;

describe('drift', () => {
  it.each(FAMILIES)(
    'finds a fall of 0.1 in %s within 20 days and the recovery after it, once each',
    (family) => {
      const atMs = MONITOR_START_MS + 20 * DAY_MS;
      const stream = { family, perHour: 30, seed: 7, startMs: MONITOR_START_MS };
      const change = { atMs, untilMs: atMs + 7 * DAY_MS, drop: 0.1 };
      const { transitions, finding } = foldAll(
        driftDetector(TERMS),
        scoreBuckets({ ...stream, days: 40, change }),
      );
      expect(transitions.map(({ to }) => to)).toEqual(['firing', 'ok']);
      expect(finding?.evidenceLog10).toBeGreaterThan(Math.log10(ONE_SERIES.fireAt));
      expect(Math.abs((finding?.changeBeganMs ?? 0) - atMs)).toBeLessThan(2 * DAY_MS);
      expect((finding?.before ?? 0) - (finding?.after ?? 0)).toBeGreaterThan(0.05);
    },
  );

  it.each(FAMILIES)('raises no alert on 60 quiet days of %s', (family) => {
    const quiet = scoreBuckets({ family, perHour: 6, days: 74, seed: 11, startMs: MONITOR_START_MS });
    expect(foldAll(driftDetector(TERMS), quiet).transitions).toEqual([]);
  });

  it('says that it learns, and which scores are missing, while the reference is too small', () => {
    const detector = driftDetector(TERMS);
    const few = foldAll(detector, steadyBuckets(0, 100, [0.9]));
    expect(few.state.phase).toBe('learning');
    expect(detector.condition(few.state.detector)).toEqual({ kind: 'learning', why: '0.3 of 14 days' });
    const sparse = foldAll(detector, [bucketAt(0, [0.9]), bucketAt(20 * PER_DAY, [0.9])]);
    expect(detector.condition(sparse.state.detector)).toEqual({ kind: 'learning', why: '2 of 300 scores' });
    const oneDay = foldAll(detector, [...steadyBuckets(0, 200, [0.9, 0.8]), bucketAt(20 * PER_DAY, [0.9])]);
    expect(detector.condition(oneDay.state.detector)).toEqual({
      kind: 'learning',
      why: 'scores on 2 of 3 days',
    });
  });

  it('takes scores that are all 1 as a baseline, stays quiet on more of them, and fires when some are 0', () => {
    const detector = driftDetector(TERMS);
    const quiet = foldAll(detector, steadyBuckets(0, 30 * PER_DAY, [1]));
    expect(quiet.transitions).toEqual([]);
    const bad = steadyBuckets(30 * PER_DAY, 30 * PER_DAY + 60, [1, 1, 1, 0]);
    expect(foldAll(detector, bad, { from: quiet.state }).transitions.map(({ to }) => to)).toEqual(['firing']);
  });

  it('takes scores of 0 as a baseline that cannot fall', () => {
    expect(foldAll(driftDetector(TERMS), steadyBuckets(0, 40 * PER_DAY, [0])).transitions).toEqual([]);
  });

  it('reports a rise only with direction up or both', () => {
    const stream = [
      ...steadyBuckets(0, 20 * PER_DAY, [0.4, 0.6]),
      ...steadyBuckets(20 * PER_DAY, 25 * PER_DAY, [0.8]),
    ];
    expect(foldAll(driftDetector(TERMS), stream).transitions).toEqual([]);
    const both = foldAll(driftDetector({ ...TERMS, direction: 'both' }), stream);
    expect(both.transitions.map(({ to }) => to)).toEqual(['firing']);
    expect(both.finding?.before).toBeCloseTo(0.5, 2);
    expect(both.finding?.after).toBeCloseTo(0.8, 2);
  });

  it('keeps an hour, a day or a week without scores from saying anything', () => {
    const detector = driftDetector(TERMS);
    const before = foldAll(detector, steadyBuckets(0, 20 * PER_DAY, [0.7, 0.9]));
    const after = foldAll(detector, steadyBuckets(27 * PER_DAY, 35 * PER_DAY, [0.7, 0.9]), {
      from: before.state,
    });
    expect([...before.transitions, ...after.transitions]).toEqual([]);
    expect(after.state.phase).toBe('ok');
  });

  it('waits for the time that a rule asks for, and keeps firing as long as it asks for', () => {
    const terms = { ...AT_ONCE, forMs: 3_600_000, keepFiringForMs: 7_200_000 };
    const stream = [
      ...steadyBuckets(0, 15 * PER_DAY, [0.7, 0.9]),
      ...steadyBuckets(15 * PER_DAY, 17 * PER_DAY, [0.5]),
      ...steadyBuckets(17 * PER_DAY, 22 * PER_DAY, [0.7, 0.9]),
    ];
    const now = foldAll(driftDetector(TERMS), stream).transitions;
    const patient = foldAll(driftDetector(TERMS), stream, { terms }).transitions;
    expect(patient.map(({ to, atMs }) => [to, atMs])).toEqual(
      now.map(({ to, atMs }) => [to, atMs + (to === 'firing' ? 3_600_000 : 7_200_000)]),
    );
  });
});
