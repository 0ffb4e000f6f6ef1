import { findPart, isPassingPart, isPassing } from '../domain/agreement/directed-score.ts';
import { computeAgreement, countAnswers } from '../domain/agreement/kappa.ts';
import type { LabelAgreement } from '../domain/agreement/label-agreement.ts';
import { correctShare } from '../domain/agreement/rogan-gladen.ts';
import { computeWilsonInterval } from '../domain/agreement/wilson.ts';
import type { ScorePair } from '../store/contracts/aggregates/compared-scores.ts';

/** Fewest labels of a version with a corrected pass rate. */
export const MIN_LABELS = 50;

/** Share without labels. */
const UNKNOWN = { share: null, low: null, high: null } as const;

/**
 * Measures a scorer by the labels of people. A queue gives rare scores more labels than their share. So a label counts for sensitivity
 * and specificity as many times as there are scores in its part of the range for each label.
 * @param weights weights of all scores of the scorer in each part of the directed range
 */
export function measureAgreement(pairs: readonly ScorePair[], weights: readonly number[]): LabelAgreement {
  const confusion = countAnswers(pairs);
  const labelled = weighLabels(pairs, weights);
  const sensitivity = computeShare(
    labelled.filter(({ passes }) => passes),
    ({ isPassed }) => isPassed,
  );
  const specificity = computeShare(
    labelled.filter(({ passes }) => !passes),
    ({ isPassed }) => !isPassed,
  );
  const known = { sensitivity: sensitivity ?? UNKNOWN, specificity: specificity ?? UNKNOWN };
  const total = sum(weights);
  const passRate = total > 0 ? sum(weights.filter((_, part) => isPassingPart(part))) / total : null;
  const isMeasured = pairs.length >= MIN_LABELS && coversAnswers(pairs, weights);
  return {
    ...computeAgreement(confusion),
    confusion,
    sensitivity: known.sensitivity.share,
    sensitivityLow: known.sensitivity.low,
    sensitivityHigh: known.sensitivity.high,
    specificity: known.specificity.share,
    specificityLow: known.specificity.low,
    specificityHigh: known.specificity.high,
    passRate,
    corrected:
      isMeasured && passRate !== null && sensitivity !== null && specificity !== null
        ? correctShare({ share: passRate, n: total }, { sensitivity, specificity })
        : null,
  };
}

/** Label with its weight. */
interface WeighedLabel {
  /** True: the scorer lets the target pass. */
  readonly isPassed: boolean;
  /** True: people let it pass. */
  readonly passes: boolean;
  readonly weight: number;
}

/** Weighs labels by the scores that they stand for. Parts without a label count for the other parts with the same answer. */
function weighLabels(pairs: readonly ScorePair[], weights: readonly number[]): WeighedLabel[] {
  const counts = weights.map((_, part) => pairs.filter(({ left }) => findPart(left) === part).length);
  const ofAnswer = (isPassed: boolean, isWanted: (part: number) => boolean) =>
    sum(weights.filter((_, part) => isPassingPart(part) === isPassed && isWanted(part)));
  return pairs.map(({ left, right }) => {
    const part = findPart(left);
    const isPassed = isPassingPart(part);
    const covered = ofAnswer(isPassed, (each) => (counts[each] ?? 0) > 0);
    const scale = covered > 0 ? ofAnswer(isPassed, () => true) / covered : 0;
    const weight = ((weights[part] ?? 0) * scale) / (counts[part] ?? 1);
    return { isPassed, passes: isPassing(right), weight };
  });
}

/** Returns whether each answer that the scorer gives has a label. */
function coversAnswers(pairs: readonly ScorePair[], weights: readonly number[]): boolean {
  return [true, false].every(
    (isPassed) =>
      weights.every((weight, part) => weight === 0 || isPassingPart(part) !== isPassed) ||
      pairs.some(({ left }) => isPassing(left) === isPassed),
  );
}

/**
 * Returns the weighted share of labels with its interval, and the number of equal labels that would tell as much (L. Kish, Survey
 * Sampling, 1965); null without weight.
 */
function computeShare(labels: readonly WeighedLabel[], isCounted: (label: WeighedLabel) => boolean) {
  const total = sum(labels.map(({ weight }) => weight));
  if (total <= 0) {
    return null;
  }
  const counted = sum(labels.filter(isCounted).map(({ weight }) => weight));
  const observed = { share: counted / total, n: total ** 2 / sum(labels.map(({ weight }) => weight ** 2)) };
  const interval = computeWilsonInterval(observed);
  return interval && { ...observed, ...interval };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
