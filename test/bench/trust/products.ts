import { computeWilsonInterval } from '../../../src/domain/agreement/agreement.ts';
import type { JudgedScores, Stratum } from '../../../src/domain/agreement/pass-rate.ts';
import { createAskingProbability } from '../../../src/scorers/evals/cascade.ts';
import type { CascadeTerms } from '../../../src/scorers/evals/scorer.ts';

/** Product whose runs a judge scores. */
export interface Product {
  /** True shares of the judge. */
  readonly sensitivity: number;
  readonly specificity: number;
  /** Share of the runs that people would let pass. */
  readonly rate: number;
  /** Share of the runs that are scored by chance; those with an error are all scored, and count less. */
  readonly sampling: number;
}

export interface Row {
  readonly passes: boolean;
  readonly truth: boolean;
  readonly weight: number;
}

const SCORES = 5_000;

/** Share of runs that are always scored. */
const ALWAYS = 0.1;

/** Draws the scored runs of a product. */
export function drawProduct(
  { sensitivity, specificity, rate, sampling }: Product,
  random: () => number,
): Row[] {
  const rows: Row[] = [];
  while (rows.length < SCORES) {
    const isAlways = random() < ALWAYS;
    if (isAlways || random() < sampling) {
      const truth = random() < rate;
      const passes = truth ? random() < sensitivity : random() >= specificity;
      rows.push({ passes, truth, weight: isAlways ? 1 : 1 / sampling });
    }
  }
  return rows;
}

/** Product whose runs a cascade scores. */
export interface CascadeProduct {
  /** Shares of the second judge, and the share of the runs that people would let pass. */
  readonly product: Product;
  /** Distance of good and bad runs in what the first judge sees, in standard deviations; its probabilities are calibrated. */
  readonly distance: number;
  readonly terms: CascadeTerms;
  readonly scores: number;
}

/** Draws the runs of a cascade: each has the verdict of the last judge that was asked. */
export function drawCascade(
  { product, distance, terms, scores }: CascadeProduct,
  random: () => number,
): Row[] {
  const { sensitivity, specificity, rate } = product;
  const asking = createAskingProbability(terms);
  return Array.from({ length: scores }, () => {
    const truth = random() < rate;
    const seen = drawNormal(random) + (truth ? distance / 2 : -distance / 2);
    const score = 1 / (1 + Math.exp(-Math.log(rate / (1 - rate)) - distance * seen));
    const finding = { score, spread: Math.sqrt(score * (1 - score)) };
    if (random() >= asking.of(finding)) {
      asking.add(finding);
      return { passes: score >= 0.5, truth, weight: 1 };
    }
    const passes = truth ? random() < sensitivity : random() >= specificity;
    asking.add({ ...finding, last: passes ? 1 : 0 });
    return { passes, truth, weight: 1 };
  });
}

/** Draws from a normal distribution (G. Box and M. Muller, 1958). */
function drawNormal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Picks rows for labels; this part of them pass. */
export function pickLabels(
  rows: readonly Row[],
  { labels, part }: { readonly labels: number; readonly part: number },
  random: () => number,
): Row[] {
  const pick = (from: readonly Row[], count: number) => {
    const left = [...from];
    return Array.from({ length: Math.min(count, left.length) }, () => {
      const at = Math.floor(random() * left.length);
      const [picked] = left.splice(at, 1);
      return picked;
    }).filter((each) => each !== undefined);
  };
  const forPass = Math.round(labels * part);
  return [
    ...pick(
      rows.filter(({ passes }) => passes),
      forPass,
    ),
    ...pick(
      rows.filter(({ passes }) => !passes),
      labels - forPass,
    ),
  ];
}

const sumOf = (rows: readonly Row[]) => ({
  n: rows.length,
  weight: rows.reduce((sum, { weight }) => sum + weight, 0),
  squaredWeight: rows.reduce((sum, { weight }) => sum + weight ** 2, 0),
});

/** Sums scores and labels by the verdict. */
export function gatherStrata(rows: readonly Row[], labelled: readonly Row[]): JudgedScores {
  const gather = (verdict: boolean): Stratum => {
    const labels = labelled.filter(({ passes }) => passes === verdict);
    return {
      scores: sumOf(rows.filter(({ passes }) => passes === verdict)),
      passing: sumOf(labels.filter(({ truth }) => truth)),
      failing: sumOf(labels.filter(({ truth }) => !truth)),
    };
  };
  return { pass: gather(true), fail: gather(false) };
}

/** Number of the labels of a verdict, and the weighted share that passes. */
function readLabels({ passing, failing }: Stratum) {
  return { n: passing.n + failing.n, passing: passing.weight / (passing.weight + failing.weight) };
}

const Z = 1.96;

/**
 * Width of the interval of the pass rate by sensitivity and specificity (W. Rogan and B. Gladen, American Journal of Epidemiology 107,
 * 1978), as if the labels were drawn at random.
 */
export function correctByRates({ pass, fail }: JudgedScores): number {
  const [good, bad] = [pass.passing.n + fail.passing.n, pass.failing.n + fail.failing.n];
  const [sensitivity, specificity] = [pass.passing.n / good, fail.failing.n / bad];
  const youden = sensitivity + specificity - 1;
  if (!(youden > 0)) {
    return 1;
  }
  const [weight, squares] = [
    pass.scores.weight + fail.scores.weight,
    pass.scores.squaredWeight + fail.scores.squaredWeight,
  ];
  const share = pass.scores.weight / weight;
  const estimate = (share + specificity - 1) / youden;
  const variance =
    ((share * (1 - share) * squares) / weight ** 2 +
      (estimate ** 2 * sensitivity * (1 - sensitivity)) / good +
      ((1 - estimate) ** 2 * specificity * (1 - specificity)) / bad) /
    youden ** 2;
  const margin = Z * Math.sqrt(variance);
  const hold = (bound: number) => Math.min(1, Math.max(0, bound));
  return hold(estimate + margin) - hold(estimate - margin);
}

/** Width of the interval of as many labels of equal weight, drawn at random and without the judge. */
export function drawLabelsAlone(rate: number, labels: number, random: () => number): number {
  const passing = Array.from({ length: labels }, random).filter((draw) => draw < rate).length;
  const interval = computeWilsonInterval({ share: passing / labels, n: labels }) ?? { low: 0, high: 1 };
  return interval.high - interval.low;
}

/** Width of the interval of the weighted share of the labels, without the scores of the judge. */
export function estimateByLabels({ pass, fail }: JudgedScores): number {
  const total = pass.scores.weight + fail.scores.weight;
  const parts = [pass, fail].map((stratum) => {
    const { n, passing } = readLabels(stratum);
    return { each: stratum.scores.weight / total / n, n, passing };
  });
  const share = parts.reduce((sum, { each, n, passing }) => sum + each * n * passing, 0);
  const n = 1 / parts.reduce((sum, part) => sum + part.n * part.each ** 2, 0);
  const interval = computeWilsonInterval({ share, n }) ?? { low: 0, high: 1 };
  return interval.high - interval.low;
}
