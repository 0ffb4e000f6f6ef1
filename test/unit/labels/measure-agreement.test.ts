import { describe, expect, it } from 'vitest';
import { computeWilsonInterval } from '../../../src/domain/agreement/agreement.ts';
import { allocateLabels, type JudgedScores } from '../../../src/domain/agreement/pass-rate.ts';
import { expireCertificates, measureAgreement } from '../../../src/labels/measure-agreement.ts';
import { seededRandom } from '../../support/builders/score-streams.ts';
import { fc } from '../../support/fast-check.ts';

const rows = (n: number, weight = 1) => ({ n, weight: n * weight, squaredWeight: n * weight ** 2 });

/** Scores by verdict: how many, and the labels on them that pass and that fail. */
type Counts = readonly [scores: number, passing: number, failing: number];

function judged(
  [pass, passGood, passBad]: Counts,
  [fail, failGood, failBad]: Counts,
  weight = 1,
): JudgedScores {
  return {
    pass: { scores: rows(pass, weight), passing: rows(passGood, weight), failing: rows(passBad, weight) },
    fail: { scores: rows(fail, weight), passing: rows(failGood, weight), failing: rows(failBad, weight) },
  };
}

const REQUIRED = { sensitivity: 0.8, specificity: 0.8 };
const measure = (scores: JudgedScores) => measureAgreement([], scores, REQUIRED);

describe('the pass rate by labels', () => {
  it('is the share of each verdict times its labels that pass, whatever their numbers are', () => {
    const found = measure(judged([900, 45, 5], [100, 10, 40]));
    expect(found.passRate).toBeCloseTo(0.9, 12);
    expect(found.estimate).toMatchObject({ scores: 1_000, effectiveN: 1_000, labels: 100, raw: 0.9 });
    expect(found.corrected?.share).toBeCloseTo(0.9 * 0.9 + 0.1 * 0.2, 12);
    expect(found.estimate.strata).toEqual([
      { verdict: 'pass', share: 0.9, labels: 50, agree: 0.9 },
      { verdict: 'fail', share: 0.1, labels: 50, agree: 0.8 },
    ]);
    expect(found.sensitivity).toBeCloseTo((900 * 0.9) / (900 * 0.9 + 100 * 0.2), 12);
    expect(found.specificity).toBeCloseTo((100 * 0.8) / (100 * 0.8 + 900 * 0.1), 12);
  });

  it.each([
    ['without labels', judged([900, 0, 0], [100, 0, 0])],
    ['while a verdict with scores has no label', judged([900, 30, 3], [100, 0, 0])],
    ['without scores', judged([0, 3, 3], [0, 3, 3])],
  ])('is not known %s', (_, scores) => {
    const { estimate, corrected, certificate } = measure(scores);
    expect(estimate).toMatchObject({ estimate: null, low: null, high: null, moreLabels: { toHalve: null } });
    expect([corrected, certificate.state]).toEqual([null, 'uncertified']);
  });

  it('needs no labels of a verdict that no score has', () => {
    expect(measure(judged([50, 20, 0], [0, 0, 0])).corrected).toMatchObject({ share: 1, high: 1 });
  });

  const part = fc.tuple(
    fc.integer({ min: 1, max: 5_000 }),
    fc.integer({ min: 1, max: 200 }),
    fc.integer({ min: 0, max: 200 }),
  );

  it('stays within its interval, and the interval within 0 and 1; only the ratios of weights count', () => {
    fc.assert(
      fc.property(part, part, fc.double({ min: 0.1, max: 50, noNaN: true }), (pass, fail, weight) => {
        const { low, share, high } = measure(judged(pass, fail)).corrected ?? {
          low: -1,
          share: -1,
          high: -1,
        };
        expect([0, low, share, high, 1].toSorted((a, b) => a - b)).toEqual([0, low, share, high, 1]);
        expect(high - low).toBeGreaterThan(0);
        expect(measure(judged(pass, fail, weight)).corrected?.low).toBeCloseTo(low, 9);
      }),
    );
  });

  it('has an interval that is narrower than the interval of the labels without the scorer', () => {
    for (const right of [18, 24, 27, 30]) {
      const { low, high, estimate } = measure(
        judged([50_000, right, 30 - right], [50_000, 30 - right, right]),
      ).estimate;
      const alone = computeWilsonInterval({ share: estimate ?? 0, n: 60 }) ?? { low: 0, high: 0 };
      expect((high ?? 1) - (low ?? 0)).toBeLessThan(alone.high - alone.low);
    }
  });

  it('has an interval that few labels halve, given to the verdict that tells most', () => {
    const scores = judged([900, 45, 5], [100, 10, 40]);
    const width = ({ corrected }: ReturnType<typeof measure>) =>
      (corrected?.high ?? 1) - (corrected?.low ?? 0);
    const more = measure(scores).estimate.moreLabels.toHalve ?? 0;
    const forPass = Math.round(allocateLabels(scores) * (100 + more)) - 50;
    const added = judged([900, 45 + 0.9 * forPass, 5 + 0.1 * forPass], [100, 10, 40]);
    expect(forPass).toBeGreaterThan(more / 2);
    expect(width(measure(added)) / width(measure(scores))).toBeLessThan(0.55);
    expect(measure(judged([30, 28, 2], [10, 1, 9])).estimate.moreLabels.toHalve).toBeNull();
  });

  it('covers the truth with its interval, when labels are as many of each verdict', () => {
    const random = seededRandom(7);
    const draw = (share: number) => Array.from({ length: 60 }, random).filter((each) => each < share).length;
    const truth = 0.9 * 0.95 + 0.1 * 0.3;
    let covered = 0;
    for (let sample = 0; sample < 400; sample += 1) {
      const [good, bad] = [draw(0.95), draw(0.3)];
      const { corrected } = measure(judged([9_000, good, 60 - good], [1_000, bad, 60 - bad]));
      covered += corrected !== null && corrected.low <= truth && truth <= corrected.high ? 1 : 0;
    }
    expect(covered / 400).toBeGreaterThan(0.93);
  });
});

describe('a certificate', () => {
  it('needs both rates with their bounds, so few labels do not suffice', () => {
    expect(measure(judged([900, 100, 0], [100, 0, 100])).certificate.state).toBe('certified');
    expect(measure(judged([900, 10, 0], [100, 0, 10])).certificate.state).toBe('uncertified');
    expect(measure(judged([900, 90, 10], [100, 0, 100])).certificate.state).toBe('uncertified');
  });

  it('is wrong for few of the judges that are just not good enough', () => {
    const random = seededRandom(3);
    let certified = 0;
    for (let sample = 0; sample < 400; sample += 1) {
      // Sensitivity 0.95; specificity 0.79, and 20 % of the answers are bad.
      const draw = (share: number) =>
        Array.from({ length: 150 }, random).filter((each) => each < share).length;
      const passShare = 0.8 * 0.95 + 0.2 * 0.21;
      const [good, bad] = [draw((0.8 * 0.95) / passShare), draw((0.8 * 0.05) / (1 - passShare))];
      const scores = judged(
        [10_000 * passShare, good, 150 - good],
        [10_000 * (1 - passShare), bad, 150 - bad],
      );
      certified += measure(scores).certificate.state === 'certified' ? 1 : 0;
    }
    expect(certified / 400).toBeLessThan(0.05);
  });

  it('expires when the judge changed under the same name', () => {
    const { certificate } = measure(judged([900, 100, 0], [100, 0, 100]));
    const drifted = new Set(['a']);
    const [version] = expireCertificates([{ fingerprint: 'a', certificate }], drifted);
    expect(version?.certificate.state).toBe('expired');
  });

  it('expires with another version: the one before, and the present one until labels certify it', () => {
    const version = (fingerprint: string, state: 'certified' | 'uncertified') => ({
      fingerprint,
      certificate: { state, sensitivityLow: 0.9, specificityLow: 0.9 },
    });
    const statesOf = (...versions: ReturnType<typeof version>[]) =>
      expireCertificates(versions).map(({ certificate }) => certificate.state);
    expect(statesOf(version('b', 'uncertified'), version('a', 'certified'))).toEqual(['expired', 'expired']);
    expect(statesOf(version('b', 'certified'), version('a', 'certified'))).toEqual(['certified', 'expired']);
    expect(statesOf(version('b', 'uncertified'), version('a', 'uncertified'))).toEqual([
      'uncertified',
      'uncertified',
    ]);
  });
});
