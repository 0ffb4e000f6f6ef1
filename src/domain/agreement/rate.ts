import { computeWilsonInterval } from './agreement.ts';

/** Share of scores or runs that pass, with its 95 % interval (Wilson, on the effective number of observations). */
export interface Rate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  readonly n: number;
  /** Equally weighted observations with the same precision. */
  readonly effectiveN: number;
}

/** Builds a rate; null without observations. */
export function buildRate({ value, n, effectiveN }: Pick<Rate, 'value' | 'n' | 'effectiveN'>): Rate | null {
  const interval = computeWilsonInterval({ share: value, n: effectiveN });
  return interval && { value, ...interval, n, effectiveN };
}

/**
 * Tells whether two rates differ, two-sided at 95 %: the interval of their difference leaves out 0. The interval is built from the Wilson
 * intervals of both, on their effective numbers (R. G. Newcombe, Interval estimation for the difference between independent proportions,
 * Statistics in Medicine 17, 1998, method 10).
 */
export function isDifferent(a: Rate, b: Rate): boolean {
  const [lower, upper] = a.value < b.value ? [a, b] : [b, a];
  const gap = upper.value - lower.value;
  return gap > Math.hypot(upper.value - upper.low, lower.high - lower.value);
}

/**
 * Computes the natural logarithm of an e-value against "both rates are equal". Given the number of all that passes, the passing ones of
 * one side are hypergeometric where the rates are equal; the e-value is the likelihood ratio of a uniform distribution to it, so its
 * mean is 1 at most whatever the common rate is. The counts are effective ones. Sources: R. Turner, A. Ly and P. Grünwald, Generic
 * E-variables for exact sequential k-sample tests, JSPI 230, 2024 (e-values of two samples); R. A. Fisher, The logic of inductive inference, 1935
 * (the condition on the sum).
 */
export function weighDifference(a: Rate, b: Rate): number {
  const passing = a.value * a.effectiveN;
  const all = passing + b.value * b.effectiveN;
  const possible = Math.min(a.effectiveN, all) - Math.max(0, all - b.effectiveN) + 1;
  return (
    logChoose(a.effectiveN + b.effectiveN, all) -
    logChoose(a.effectiveN, passing) -
    logChoose(b.effectiveN, all - passing) -
    Math.log(possible)
  );
}

function logChoose(n: number, k: number): number {
  return logGamma(n + 1) - logGamma(k + 1) - logGamma(Math.max(0, n - k) + 1);
}

/** Numbers of Stirling's series, B₂ₖ / (2k (2k - 1)). */
const STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680] as const;

/** Argument from which Stirling's series is right to 10 digits. */
const FAR = 10;

/** Computes the logarithm of the gamma function of a number above 0 by Stirling's series, from an argument that is far enough. */
function logGamma(x: number): number {
  if (x < FAR) {
    return logGamma(x + 1) - Math.log(x);
  }
  const series = STIRLING.reduce((sum, factor, index) => sum + factor / x ** (2 * index + 1), 0);
  return (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + series;
}
