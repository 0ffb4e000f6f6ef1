import type { Replies } from '../api-types.ts';
import { formatNumber, formatPercent, formatScore } from './format.ts';

export type Comparison = Replies['/compare'];

/** Greatest kappa of each word, after Landis and Koch (1977). */
const KAPPA_WORDS = [
  [0, 'no agreement beyond chance'],
  [0.2, 'slight agreement'],
  [0.4, 'fair agreement'],
  [0.6, 'moderate agreement'],
  [0.8, 'substantial agreement'],
  [1, 'almost perfect agreement'],
] as const;

/** Writes what a comparison shows, in words. */
export function describeComparison({
  n,
  agreement,
  kappa,
  kappaLow,
  kappaHigh,
  spearman,
  left,
  right,
}: Comparison): string {
  if (n === 0) {
    return `No target has a score of both ${left} and ${right} in this time.`;
  }
  const word = kappa === null ? undefined : KAPPA_WORDS.find(([most]) => kappa <= most)?.[1];
  return [
    agreement === null
      ? `${formatNumber(n)} targets have both scores.`
      : `Both sides agree on ${formatPercent(agreement)} of ${formatNumber(n)} targets.`,
    kappa === null
      ? 'Kappa is not known: one side gives every target the same answer.'
      : `Kappa is ${formatScore(kappa)} (95 %: ${formatScore(kappaLow)} to ${formatScore(kappaHigh)}): ${word ?? ''}.`,
    spearman === null ? '' : `The rank correlation is ${formatScore(spearman)}.`,
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

/** Writes a number with its 95 % interval. */
export function formatInterval(value: number | null, low: number | null, high: number | null): string {
  return value === null ? '–' : `${formatScore(value)} (${formatScore(low)} to ${formatScore(high)})`;
}
