/** Standard normal quantile of 0.99. */
const NORMAL_99 = 2.326_347_874;

/**
 * Computes the 99 % point of the chi-squared distribution: 1 % of values are above it. Wilson and Hilferty's cube-root formula
 * (PNAS 1931), within 0.5 % from 3 degrees of freedom on; none of our libraries has it.
 * @param degrees degrees of freedom, at least 1
 */
export function chiSquared99(degrees: number): number {
  const spread = 2 / (9 * degrees);
  return degrees * (1 - spread + NORMAL_99 * Math.sqrt(spread)) ** 3;
}
