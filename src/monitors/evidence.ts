import type { ScoreHistogram } from './bucket.ts';

/** Above it a factor or a state is only "overwhelming": kept finite, so that it survives JSON. */
const MAX_LOG_FACTOR = 600;
const MAX_EVIDENCE = 1e300;
/** Up to this many equal scores are multiplied: a logarithm costs as much as a dozen products. */
const MAX_POWER = 64;
/**
 * Beyond it, or below its inverse, a product goes on as a logarithm: it must neither overflow nor vanish midway. Factors
 * lie within 0.05 and 35, so one more power stays within the range of numbers.
 */
const MAX_PRODUCT = 1e150;

/** Drops of the mean that the bets are laid out for: from barely worth a word to a collapse. */
const DESIGN_DROPS = [0.03, 0.05, 0.08, 0.12, 0.2, 0.35] as const;

/** No bet stakes more than this part of what would make a factor zero. */
const MAX_STAKE = 0.95;

/**
 * The bets against "the mean is at least `bound`": for each design drop d the stake d / (s² + d²), the growth-optimal one
 * in second order (Kelly), below 1 / (1 - bound), where a score of 0 to 1 keeps every factor positive.
 * @param variances guesses of the variance of a score: one grid of stakes for each
 * @param lowestBound the smallest bound that the stakes are used with
 * Source: betting for bounded means, Waudby-Smith and Ramdas, JRSS-B 2024 (arXiv 2010.09686).
 */
export function stakes(variances: readonly number[], lowestBound: number): number[] {
  const most = lowestBound < 1 ? MAX_STAKE / (1 - lowestBound) : Number.MAX_VALUE;
  return variances.flatMap((variance) =>
    DESIGN_DROPS.map((drop) => Math.min(drop / (variance + drop * drop), most)),
  );
}

/** No evidence yet, one number a stake. */
export function noEvidence(stakesUsed: readonly number[]): number[] {
  return stakesUsed.map(() => 0);
}

/**
 * One check of the Shiryaev-Roberts e-detector: M := (M + 1) · Π (1 + λ (bound - x)) over the bucket's scores, for each
 * stake λ. Where the mean is at least the bound, M minus the number of checks is a supermartingale, whatever the
 * distribution, so that M reaches A within B checks with a probability of at most B / A (Ville).
 * Source: e-detectors, Shin, Ramdas and Rinaldo, NEJSDS 2024 (arXiv 2203.03532).
 */
export function weigh(
  evidence: readonly number[],
  stakesUsed: readonly number[],
  bound: number,
  scores: ScoreHistogram,
): number[] {
  return stakesUsed.map((stake, index) => {
    const grown = ((evidence[index] ?? 0) + 1) * factorOf(stake, bound, scores);
    return Math.min(grown, MAX_EVIDENCE);
  });
}

/** Π (1 + λ (bound - x)) over the scores. */
function factorOf(lambda: number, bound: number, { values, counts }: ScoreHistogram): number {
  let product = 1;
  let logarithm = 0;
  for (let index = 0; index < values.length; index += 1) {
    const factor = 1 + lambda * (bound - (values[index] ?? 0));
    const count = counts[index] ?? 0;
    if (count > MAX_POWER) {
      logarithm += count * Math.log(factor);
    } else {
      product *= power(factor, count);
    }
    if (product > MAX_PRODUCT || product < 1 / MAX_PRODUCT) {
      logarithm += Math.log(product);
      product = 1;
    }
  }
  return logarithm === 0 ? product : Math.exp(Math.min(logarithm + Math.log(product), MAX_LOG_FACTOR));
}

/** By repeated squares; `**` is several times slower. */
function power(factor: number, exponent: number): number {
  let result = 1;
  let square = factor;
  for (let left = exponent; left > 0; left >>= 1) {
    if ((left & 1) === 1) {
      result *= square;
    }
    square *= square;
  }
  return result;
}

/** The evidence of all stakes together: their mean, itself an e-detector. */
export function meanEvidence(evidence: readonly number[]): number {
  let sum = 0;
  for (const value of evidence) {
    sum += value / evidence.length;
  }
  return sum;
}
