/** One observation: a size and what it led to. */
export interface Observation {
  readonly x: number;
  readonly y: number;
}

/** Predicts y from x. */
export type Predictor = (x: number) => number;

/** Fewest observations from which a slope is computed. */
const FEWEST_FOR_SLOPE = 8;

/** Greatest prediction, in multiples of the greatest y: a line is not trusted far beyond its observations. */
const MOST_BEYOND = 4;

/**
 * Fits a line by ordinary least squares. With few observations, or with equal sizes, the prediction is their mean. No prediction is below 0.
 * Without observations it is 0.
 */
export function fitLine(observations: readonly Observation[]): Predictor {
  const meanX = mean(observations.map(({ x }) => x));
  const meanY = mean(observations.map(({ y }) => y));
  const varianceX = mean(observations.map(({ x }) => (x - meanX) ** 2));
  const covariance = mean(observations.map(({ x, y }) => (x - meanX) * (y - meanY)));
  const hasSlope = observations.length >= FEWEST_FOR_SLOPE && varianceX > 0;
  const slope = hasSlope ? covariance / varianceX : 0;
  const most = MOST_BEYOND * observations.reduce((greatest, { y }) => Math.max(greatest, y), 0);
  return (x) => Math.min(most, Math.max(0, meanY + slope * (x - meanX)));
}

/** Computes the mean; 0 without values. */
export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Computes the variance of a sample (divided by n - 1); 0 for fewer than two values. */
export function sampleVariance(values: readonly number[]): number {
  const center = mean(values);
  return values.length < 2
    ? 0
    : values.reduce((sum, value) => sum + (value - center) ** 2, 0) / (values.length - 1);
}
