import type { ScoreHistogram } from '../bucket.ts';

/** Largest logarithm of a factor or of a state; kept finite, so that it can be written as JSON. */
const MAX_LOG_FACTOR = 600;
const MAX_EVIDENCE = 1e300;
/**
 * Most factors that are multiplied before the product is turned into a logarithm; more equal factors than that are turned at
 * once. A logarithm costs as much as a dozen products. Factors are between 0.05 and 10,000, so that no product overflows or
 * becomes zero.
 */
const MAX_FACTORS = 64;
/** Most drops of the mean that bets are designed for. */
const MAX_DROPS = 6;

/** Drops of the mean for which the bets are designed: from barely relevant to a collapse. */
const DESIGN_DROPS = [0.03, 0.05, 0.08, 0.12, 0.2, 0.35] as const;

/** Guesses of the variance of a score: one, or two to bet on both. */
export type Variances = readonly [number] | readonly [number, number];

/**
 * Working memory: a number for each stake of two guesses. It is kept, because creating it at every check took as long as the
 * calculation.
 */
const products = new Float64Array(2 * MAX_DROPS);
const logarithms = new Float64Array(2 * MAX_DROPS);

/** Largest share of the stake that would make a factor zero. */
const MAX_STAKE = 0.95;

/**
 * Computes the bets against "the mean is at least `bound`". For each design drop d the stake is d / (s² + d²), growth-optimal
 * in second order (Kelly). It stays below 1 / (1 - bound), where a score of 0 to 1 keeps every factor positive. Source: betting
 * for bounded means, Waudby-Smith and Ramdas, JRSS-B 2024 (arXiv 2010.09686).
 * @param variances one grid of stakes for each variance
 * @param lowestBound the smallest bound that the stakes are used with
 * @param drops drops of the mean that the bets are designed for, six at most
 */
export function stakes(
  variances: Variances,
  lowestBound: number,
  drops: readonly number[] = DESIGN_DROPS,
): number[] {
  return variances.flatMap((variance) =>
    drops.map((drop) => capStake(drop / (variance + drop * drop), lowestBound)),
  );
}

/** Returns the stake, or the largest one with which a score of 1 keeps its factor positive at this bound. */
export function capStake(stake: number, bound: number): number {
  return bound < 1 ? Math.min(stake, MAX_STAKE / (1 - bound)) : stake;
}

/** Creates the state without evidence: one number for each stake. */
export function noEvidence(stakesUsed: readonly number[]): number[] {
  return stakesUsed.map(() => 0);
}

/**
 * Makes one check of the Shiryaev-Roberts e-detector: M := (M + 1) · Π (1 + λ (bound - x)) over the bucket's scores, for each
 * stake λ. Where the mean is at least the bound, M minus the number of checks is a supermartingale, for any distribution. So M
 * reaches A within B checks with a probability of at most B / A (Ville). Source: e-detectors, Shin, Ramdas and Rinaldo, NEJSDS
 * 2024 (arXiv 2203.03532).
 * @param clumping observations of a clump that are alike: the root of their product is at most their mean, so it is a fair bet, too
 */
export function weigh(
  evidence: readonly number[],
  stakesUsed: readonly number[],
  bound: number,
  scores: ScoreHistogram,
  clumping = 1,
): number[] {
  const overwhelming = multiplyUp(stakesUsed, bound, scores);
  return stakesUsed.map((_, index) => {
    const product = products[index] ?? 0;
    const growth =
      overwhelming || clumping !== 1
        ? Math.exp(
            Math.min(
              ((overwhelming ? (logarithms[index] ?? 0) : 0) + Math.log(product)) / clumping,
              MAX_LOG_FACTOR,
            ),
          )
        : product;
    return Math.min(((evidence[index] ?? 0) + 1) * growth, MAX_EVIDENCE);
  });
}

/**
 * Computes Π (1 + λ (bound - x)) over the scores for each stake λ in `products`. Returns true when a part of each product is in
 * `logarithms`.
 */
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

/** Multiplies equal scores into the products of all stakes; independent products side by side run faster. */
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

function partLogarithms(isParted: boolean): void {
  for (let index = 0; index < products.length; index += 1) {
    logarithms[index] = (isParted ? (logarithms[index] ?? 0) : 0) + Math.log(products[index] ?? 1);
  }
  products.fill(1);
}

/** Computes a power by repeated squares; `**` is several times slower. */
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

/** Combines the evidence of all stakes: their mean is itself an e-detector. */
export function meanEvidence(evidence: readonly number[]): number {
  let sum = 0;
  for (const value of evidence) {
    sum += value / evidence.length;
  }
  return sum;
}
