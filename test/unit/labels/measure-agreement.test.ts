import { describe, expect, it } from 'vitest';
import { computeWilsonInterval } from '../../../src/domain/agreement/agreement.ts';
import { MIN_LABELS, measureAgreement } from '../../../src/labels/measure-agreement.ts';

/** Builds labelled targets: directed scores of the scorer and of people. */
function pairs(count: number, left: number, right: number) {
  return Array.from({ length: count }, (_, index) => ({
    traceId: `t${left}-${right}-${index}`,
    left,
    right,
    leftPasses: left >= 0.5,
    rightPasses: right >= 0.5,
  }));
}

/** Weights of the parts of the range: 0 to 0.2, to 0.4, to 0.5, to 0.6, to 0.8, to 1. */
const weighted = (...weights: readonly number[]) => ({ passLine: 0.5, weights });
const EVEN = weighted(50, 0, 0, 0, 0, 50);

describe('the agreement of a scorer with people', () => {
  it('counts the answers of both, and how often people confirm them', () => {
    const labelled = [...pairs(40, 1, 1), ...pairs(10, 1, 0), ...pairs(5, 0, 1), ...pairs(45, 0, 0)];
    const found = measureAgreement(labelled, EVEN);
    expect(found).toMatchObject({
      n: 100,
      agreement: 0.85,
      confusion: { bothPass: 40, leftPasses: 10, rightPasses: 5, bothFail: 45 },
      passRate: 0.5,
    });
    expect(found.kappa).toBeCloseTo(0.7, 12);
    expect(found.sensitivity).toBeCloseTo(40 / 45, 12);
    expect(found.specificity).toBeCloseTo(45 / 55, 12);
    expect(found.corrected?.share).toBeCloseTo(0.45, 12);
  });

  it('gives sensitivity and specificity intervals, which are wider for labels of unequal weight', () => {
    const labelled = [...pairs(40, 1, 1), ...pairs(10, 1, 0), ...pairs(5, 0, 1), ...pairs(45, 0, 0)];
    const even = measureAgreement(labelled, EVEN);
    const interval = computeWilsonInterval({ share: 40 / 45, n: 45 });
    expect(even.sensitivityLow).toBeCloseTo(interval?.low ?? 0, 12);
    expect(even.sensitivityHigh).toBeCloseTo(interval?.high ?? 0, 12);
    expect(even.specificityLow).toBeLessThan(even.specificity ?? 0);
    expect(even.specificityHigh).toBeGreaterThan(even.specificity ?? 1);
    const uneven = measureAgreement(labelled, weighted(100, 0, 0, 0, 0, 900));
    const width = ({ specificityLow, specificityHigh }: typeof even) =>
      (specificityHigh ?? 0) - (specificityLow ?? 0);
    expect(width(uneven)).toBeGreaterThan(width(even));
  });

  it('weighs labels by the traffic: a rare answer with many labels does not move the rates', () => {
    const labelled = [...pairs(45, 1, 1), ...pairs(5, 1, 0), ...pairs(10, 0, 1), ...pairs(40, 0, 0)];
    const found = measureAgreement(labelled, weighted(100, 0, 0, 0, 0, 900));
    expect(found.passRate).toBeCloseTo(0.9, 12);
    expect(found.sensitivity).toBeCloseTo((900 * 0.9) / (900 * 0.9 + 100 * 0.2), 12);
    expect(found.specificity).toBeCloseTo((100 * 0.8) / (100 * 0.8 + 900 * 0.1), 12);
    expect(found.corrected?.share).toBeCloseTo(0.9 * 0.9 + 0.1 * 0.2, 12);
  });

  it('lets labels of an answer stand for its parts without labels', () => {
    const labelled = [...pairs(30, 1, 1), ...pairs(30, 0, 0)];
    const found = measureAgreement(labelled, weighted(100, 100, 0, 0, 300, 500));
    expect(found.corrected?.share).toBeCloseTo(0.8, 12);
  });

  it('counts scores from the pass line of the scorer on', () => {
    const labelled = [
      ...pairs(30, 1, 1),
      ...pairs(30, 0.9, 0).map((pair) => ({ ...pair, leftPasses: false })),
    ];
    // Parts: 0 to 0.2, to 0.4, to 0.6, to 0.8, to 1, and 1.
    const found = measureAgreement(labelled, { passLine: 1, weights: [0, 0, 0, 0, 40, 60] });
    expect(found).toMatchObject({ passRate: 0.6, kappa: 1, sensitivity: 1, specificity: 1 });
  });

  it('corrects nothing below the fewest labels, nor when an answer has no label', () => {
    const few = measureAgreement([...pairs(MIN_LABELS - 2, 1, 1), ...pairs(1, 0, 0)], EVEN);
    expect(few).toMatchObject({ n: MIN_LABELS - 1, passRate: 0.5, sensitivity: 1, corrected: null });
    expect(
      measureAgreement([...pairs(MIN_LABELS - 1, 1, 1), ...pairs(1, 0, 0)], EVEN).corrected,
    ).not.toBeNull();
    const oneSided = measureAgreement([...pairs(40, 1, 1), ...pairs(40, 1, 0)], EVEN);
    expect(oneSided).toMatchObject({ corrected: null });
  });

  it('corrects nothing for a scorer that is no better than chance', () => {
    const labelled = [...pairs(20, 1, 1), ...pairs(20, 1, 0), ...pairs(20, 0, 1), ...pairs(20, 0, 0)];
    expect(measureAgreement(labelled, EVEN)).toMatchObject({ kappa: 0, corrected: null });
  });

  it('has no rates without labels', () => {
    expect(measureAgreement([], EVEN)).toMatchObject({
      n: 0,
      kappa: null,
      sensitivity: null,
      sensitivityLow: null,
      sensitivityHigh: null,
      specificity: null,
      specificityLow: null,
      specificityHigh: null,
      corrected: null,
    });
  });

  it('covers the true pass rate with its interval in most samples, when labels are as many of each answer', () => {
    const random = createRandom(7);
    let covered = 0;
    const samples = 400;
    for (let sample = 0; sample < samples; sample += 1) {
      // The scorer lets 90 % pass. People agree with 95 % of these, and with 70 % of the others.
      const draw = (left: number, agreed: number) =>
        Array.from({ length: 60 }, () => pairs(1, left, random() < agreed ? left : 1 - left)).flat();
      const { corrected } = measureAgreement(
        [...draw(1, 0.95), ...draw(0, 0.7)],
        weighted(1_000, 0, 0, 0, 0, 9_000),
      );
      const truth = 0.9 * 0.95 + 0.1 * 0.3;
      covered += corrected !== null && corrected.low <= truth && truth <= corrected.high ? 1 : 0;
    }
    expect(covered / samples).toBeGreaterThan(0.9);
  });
});

/** Creates a generator of numbers from 0 to 1 (mulberry32): the same for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
