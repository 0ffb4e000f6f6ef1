import type { ScoreHistogram } from '../bucket.ts';

/** Above it a factor or a state is only "overwhelming": kept finite, so that it survives JSON. */
const MAX_LOG_FACTOR = 600;
const MAX_EVIDENCE = 1e300;
/**
 * So many factors are multiplied before the product goes on as a logarithm, and more equal ones than that are one at once: a
 * logarithm costs as much as a dozen products. Factors lie within 0.05 and 35, so that no product overflows or vanishes.
 */
const MAX_FACTORS = 64;
/** Drops of the mean that the bets are laid out for: from barely worth a word to a collapse. */
const DESIGN_DROPS = [0.03, 0.05, 0.08, 0.12, 0.2, 0.35] as const;

/** Guesses of the variance of a score: one, or two to bet on both. */
export type Variances = readonly [number] | readonly [number, number];

/** Room to calculate in, a number for each stake of two guesses; kept, since making it at every check took as long as the rest. */
const products = new Float64Array(2 * DESIGN_DROPS.length);
const logarithms = new Float64Array(2 * DESIGN_DROPS.length);

/** No bet stakes more than this part of what would make a factor zero. */
const MAX_STAKE = 0.95;

/**
 * The bets against "the mean is at least `bound`": for each design drop d the stake d / (s² + d²), the growth-optimal one
 * in second order (Kelly), below 1 / (1 - bound), where a score of 0 to 1 keeps every factor positive.
 * @param variances one grid of stakes for each
 * @param lowestBound the smallest bound that the stakes are used with
 * Source: betting for bounded means, Waudby-Smith and Ramdas, JRSS-B 2024 (arXiv 2010.09686).
 */
export function stakes(variances: Variances, lowestBound: number): number[] {
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
  const overwhelming = multiplyUp(stakesUsed, bound, scores);
  return stakesUsed.map((_, index) => {
    const product = products[index] ?? 0;
    const growth = overwhelming
      ? Math.exp(Math.min((logarithms[index] ?? 0) + Math.log(product), MAX_LOG_FACTOR))
      : product;
    return Math.min(((evidence[index] ?? 0) + 1) * growth, MAX_EVIDENCE);
  });
}

/** Π (1 + λ (bound - x)) over the scores for each stake λ, in `products`; true when a part of each is in `logarithms`. */
function multiplyUp(
  stakesUsed: readonly number[],
  bound: number,
  { values, counts }: ScoreHistogram,
): boolean {
  products.fill(1);
  let factors = 0;
  let isParted = false;
  for (let index = 0; index < values.length; index += 1) {
    const below = bound - (values[index] as number);
    const count = counts[index] as number;
    factors += count;
    if (factors > MAX_FACTORS) {
      partLogarithms(isParted);
      isParted = true;
      factors = count;
    }
    if (count > MAX_FACTORS) {
      factors = 0;
      addLogarithms(stakesUsed, below, count);
    } else {
      multiply(stakesUsed, below, count);
    }
  }
  return isParted;
}

/** One score after the other over all stakes: products side by side need not wait for each other. */
function multiply(stakesUsed: readonly number[], below: number, count: number): void {
  if (count === 1) {
    for (let index = 0; index < stakesUsed.length; index += 1) {
      products[index] = (products[index] as number) * (1 + (stakesUsed[index] as number) * below);
    }
    return;
  }
  for (let index = 0; index < stakesUsed.length; index += 1) {
    products[index] =
      (products[index] as number) * raisePower(1 + (stakesUsed[index] as number) * below, count);
  }
}

function addLogarithms(stakesUsed: readonly number[], below: number, count: number): void {
  for (let index = 0; index < stakesUsed.length; index += 1) {
    logarithms[index] =
      (logarithms[index] ?? 0) + count * Math.log(1 + (stakesUsed[index] as number) * below);
  }
}

/** The products go on as logarithms and begin anew. */
function partLogarithms(isParted: boolean): void {
  for (let index = 0; index < products.length; index += 1) {
    logarithms[index] = (isParted ? (logarithms[index] ?? 0) : 0) + Math.log(products[index] ?? 1);
  }
  products.fill(1);
}

/** By repeated squares; `**` is several times slower. */
function raisePower(factor: number, exponent: number): number {
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
