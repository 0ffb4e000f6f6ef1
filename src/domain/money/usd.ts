/** Largest rounding error of sums of decimal prices, USD. */
export const ROUNDING_USD = 1e-9;

/** Digits after the point that this error leaves. */
const ROUNDING_DIGITS = 9;

/** Removes rounding errors from a sum of decimal prices that is never below 0, USD. */
export function roundUsd(usd: number): number {
  return Math.max(0, Number(usd.toFixed(ROUNDING_DIGITS)));
}

/** Writes an amount of US dollars for people: up to six decimals, without zeros at the end. */
export function showUsd(usd: number): string {
  if (usd > 0 && usd < 1e-6) {
    return usd.toPrecision(2);
  }
  const text = usd.toFixed(6).replace(/\.?0+$/, '');
  // A sum of decimal prices may be a little below 0.
  return text === '-0' ? '0' : text;
}
