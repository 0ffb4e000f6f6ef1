import { listPartLimits } from '../domain/agreement/directed-score.ts';
import { reaches } from '../domain/limits.ts';
import {
  computeAgreement,
  countAnswers,
  type AnswerPair,
  type LabelAgreement,
  correctShare,
  computeWilsonInterval,
} from '../domain/agreement/agreement.ts';
import type { ScorePair } from '../store/contracts/sums.ts';

/** Fewest labels of a version with a corrected pass rate. */
export const MIN_LABELS = 50;

/** Share without labels. */
const UNKNOWN = { share: null, low: null, high: null } as const;

/** Scores of a scorer, live ones or those of backfills. */
export interface ScoreWeights {
  /** Directed score from which they pass. */
  readonly passLine: number;
  /** Weights in each part of the directed range, between the limits of `listPartLimits`. */
  readonly weights: readonly number[];
}

/**
 * Measures a scorer by the labels of people. A queue gives rare scores more labels than their share. So a label counts for sensitivity
 * and specificity as many times as there are scores in its part of the range for each label.
 */
export function measureAgreement(
  pairs: readonly ScorePair[],
  { passLine, weights }: ScoreWeights,
): LabelAgreement {
  const confusion = countAnswers(pairs);
  const limits = listPartLimits(passLine);
  const parts = weights.map((weight, part): Part => ({ weight, passes: part > limits.indexOf(passLine) }));
  const labelled = weighLabels(pairs, parts, limits);
  const sensitivity = computeShare(
    labelled.filter(({ rightPasses }) => rightPasses),
    ({ leftPasses }) => leftPasses,
  );
  const specificity = computeShare(
    labelled.filter(({ rightPasses }) => !rightPasses),
    ({ leftPasses }) => !leftPasses,
  );
  const known = { sensitivity: sensitivity ?? UNKNOWN, specificity: specificity ?? UNKNOWN };
  const total = sum(weights);
  const passRate = total > 0 ? sumWeights(parts.filter(({ passes }) => passes)) / total : null;
  const isMeasured = pairs.length >= MIN_LABELS && coversAnswers(pairs, parts);
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

/** Part of the directed range. */
interface Part {
  /** Weight of the scores in it. */
  readonly weight: number;
  /** True when these scores pass. */
  readonly passes: boolean;
}

/** Label with its weight: the scorer is left, people are right. */
type WeighedLabel = AnswerPair & { readonly weight: number };

/** Weighs labels by the scores that they stand for. Parts without a label count for the other parts with the same answer. */
function weighLabels(
  pairs: readonly ScorePair[],
  parts: readonly Part[],
  limits: readonly number[],
): WeighedLabel[] {
  const places = pairs.map(({ left }) => limits.filter((limit) => reaches(left, limit)).length);
  const counts = parts.map((_, part) => places.filter((place) => place === part).length);
  return pairs.map(({ leftPasses, rightPasses }, index) => {
    const part = places[index] ?? 0;
    const alike = parts
      .map((each, place) => ({ ...each, place }))
      .filter(({ passes }) => passes === leftPasses);
    const covered = sumWeights(alike.filter(({ place }) => (counts[place] ?? 0) > 0));
    const scale = covered > 0 ? sumWeights(alike) / covered : 0;
    const weight = ((parts[part]?.weight ?? 0) * scale) / (counts[part] ?? 1);
    return { leftPasses, rightPasses, weight };
  });
}

/** Returns whether each answer that the scorer gives has a label. */
function coversAnswers(pairs: readonly ScorePair[], parts: readonly Part[]): boolean {
  return [true, false].every(
    (answer) =>
      parts.every(({ weight, passes }) => weight === 0 || passes !== answer) ||
      pairs.some(({ leftPasses }) => leftPasses === answer),
  );
}

/**
 * Returns the weighted share of labels with its interval, and the number of equal labels that would tell as much (L. Kish, Survey
 * Sampling, 1965); null without weight.
 */
function computeShare(labels: readonly WeighedLabel[], isCounted: (label: WeighedLabel) => boolean) {
  const total = sumWeights(labels);
  if (total <= 0) {
    return null;
  }
  const counted = sumWeights(labels.filter(isCounted));
  const observed = { share: counted / total, n: total ** 2 / sum(labels.map(({ weight }) => weight ** 2)) };
  const interval = computeWilsonInterval(observed);
  return interval && { ...observed, ...interval };
}

function sumWeights(weighed: readonly { readonly weight: number }[]): number {
  return sum(weighed.map(({ weight }) => weight));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
