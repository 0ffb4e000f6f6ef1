import type { SeriesFacets } from '../domain/series-facets.ts';
import {
  addToReference,
  computeSlot,
  computeTolerance,
  EMPTY_REFERENCE,
  pinBaseline,
} from './statistics/baseline.ts';
import { type ScoreHistogram, sumHistogram, type IntervalScores } from './bucket.ts';
import { stakes } from './statistics/evidence.ts';

/** Scores of a series around a deploy: all scores before it, and the scores of the new version since, one entry an hour. */
export interface VersionScores {
  readonly series: SeriesFacets;
  readonly before: readonly IntervalScores[];
  readonly after: readonly IntervalScores[];
}

export interface VersionComparison {
  readonly series: SeriesFacets;
  /**
   * `learning`: too few scores before the deploy; `worse`: shown to be worse; `not_shown`: maybe worse, but not shown (yet).
   */
  readonly effect: 'learning' | 'worse' | 'not_shown';
  readonly before: { readonly mean: number | null; readonly count: number };
  readonly after: { readonly mean: number | null; readonly count: number };
  /** Decimal logarithm of the evidence for worse; null while learning. */
  readonly evidenceLog10: number | null;
}

/** Fewest scores before a deploy for a baseline. */
const MIN_BEFORE = 50;

/** Smallest relevant drop of a directed mean. */
const SMALLEST_DROP = 0.02;

/** Share of wrong results among the series that are called worse, on average at most. */
const FALSE_DISCOVERIES = 0.05;

/**
 * Finds the series that got worse with a deploy. The baseline of each series is pinned from the scores before. The evidence of
 * the scores since is the mean over stakes of the product of 1 + stake (bound - score): an e-value at any time, for any
 * distribution. Among K series, those with the k largest e-values are called worse where the k-th is at least K / (0.05 k);
 * this bounds the false discoveries however the series depend on each other. Sources: Waudby-Smith and Ramdas, JRSS-B 2024
 * (arXiv 2010.09686); e-BH, Wang and Ramdas, JRSS-B 2022 (arXiv 2009.02824).
 */
export function compareVersions(all: readonly VersionScores[]): VersionComparison[] {
  const weighed = all.map((scores) => ({ scores, logE: logEvidence(scores) }));
  const judged = weighed.flatMap(({ logE }) => (logE === null ? [] : [logE])).sort((a, b) => b - a);
  const leastLogE = leastDiscovery(judged);
  return weighed.map(({ scores, logE }) => ({
    series: scores.series,
    effect: logE === null ? 'learning' : logE >= leastLogE ? 'worse' : 'not_shown',
    before: computeMean(scores.before),
    after: computeMean(scores.after),
    evidenceLog10: logE === null ? null : logE / Math.LN10,
  }));
}

/**
 * Returns the smallest evidence (natural logarithm) that is a discovery by e-BH; infinite without any.
 * @param count number of tests, where those without evidence are left out
 */
export function leastDiscovery(descendingLogE: readonly number[], count = descendingLogE.length): number {
  return (
    descendingLogE.findLast((logE, index) => logE >= Math.log(count / (FALSE_DISCOVERIES * (index + 1)))) ??
    Number.POSITIVE_INFINITY
  );
}

/** Computes the natural logarithm of the e-value; null without a baseline. */
function logEvidence({ before, after }: VersionScores): number | null {
  const reference = before.reduce(addToReference, EMPTY_REFERENCE);
  if (reference.count < MIN_BEFORE) {
    return null;
  }
  const baseline = pinBaseline(reference);
  const tolerance = computeTolerance(baseline, SMALLEST_DROP);
  const bounds = baseline.slotMeans.map((mean) => mean - tolerance);
  const used = stakes([baseline.variance], Math.min(...bounds));
  const logs = used.map((stake) =>
    after.reduce((sum, { startMs, scores }) => {
      const bound = bounds[computeSlot(startMs, bounds.length)] ?? 0;
      return sum + logFactor(stake, bound, scores) / (baseline.clumping ?? 1);
    }, 0),
  );
  const largest = Math.max(...logs);
  return largest + Math.log(logs.reduce((sum, log) => sum + Math.exp(log - largest), 0) / logs.length);
}

function logFactor(stake: number, bound: number, { values, counts }: ScoreHistogram): number {
  return values.reduce(
    (sum, value, index) => sum + (counts[index] ?? 0) * Math.log1p(stake * (bound - value)),
    0,
  );
}

function computeMean(hours: readonly IntervalScores[]): { mean: number | null; count: number } {
  const totals = hours.map(({ scores }) => sumHistogram(scores));
  const count = totals.reduce((sum, total) => sum + total.count, 0);
  return { count, mean: count === 0 ? null : totals.reduce((sum, total) => sum + total.sum, 0) / count };
}
