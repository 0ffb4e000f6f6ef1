import { computeWilsonInterval } from '../../../src/domain/agreement/agreement.ts';
import type { JudgedScores, Stratum } from '../../../src/domain/agreement/pass-rate.ts';

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
 * 1978), with weights for the labels of each verdict.
 */
export function correctByRates({ pass, fail }: JudgedScores): number {
  const total = pass.scores.weight + fail.scores.weight;
  const share = pass.scores.weight / total;
  const rest = 1 - share;
  const [{ passing: ofPass }, { passing: ofFail }] = [readLabels(pass), readLabels(fail)];
  const good = share * ofPass + rest * ofFail;
  const [sensitivity, specificity] = [(share * ofPass) / good, (rest * (1 - ofFail)) / (1 - good)];
  const youden = sensitivity + specificity - 1;
  if (!(youden > 0)) {
    return 1;
  }
  const count = (isGood: boolean) => {
    const weights = ([stratum, part]: [Stratum, number]) => {
      const { n, passing } = readLabels(stratum);
      const counted = n * (isGood ? passing : 1 - passing);
      return { counted, each: part / n };
    };
    const both = [weights([pass, share]), weights([fail, rest])];
    const sum = both.reduce((all, { counted, each }) => all + counted * each, 0);
    const squares = both.reduce((all, { counted, each }) => all + counted * each ** 2, 0);
    return sum ** 2 / squares;
  };
  const estimate = (share + specificity - 1) / youden;
  const variance =
    ((share * rest) / (pass.scores.n + fail.scores.n) +
      (estimate ** 2 * sensitivity * (1 - sensitivity)) / count(true) +
      ((1 - estimate) ** 2 * specificity * (1 - specificity)) / count(false)) /
    youden ** 2;
  const margin = Z * Math.sqrt(variance);
  return Math.min(1, estimate + margin) - Math.max(0, estimate - margin);
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
