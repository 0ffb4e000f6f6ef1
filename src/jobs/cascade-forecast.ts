import { forecastWidth, UNKNOWN_RUNS, type SeenRun } from '../scorers/evals/cascade.ts';
import type { CascadeTerms } from '../scorers/evals/scorer.ts';
import { findRowScorer } from '../domain/score-rows.ts';
import type { Score } from '../domain/score.ts';
import type { PreparedScorer } from '../scoring/select/rule.ts';
import type { CostEstimate } from './estimate.ts';

/** Cost of a cascade for one share of the second judge, and how well its mean would be known. */
export interface CascadeForecast {
  readonly scorer: string;
  readonly share: number;
  /** Of all runs, USD; null when a judge has no price, or cannot be asked. */
  readonly costUsd: number | null;
  /** Width of the 95 % interval of the mean; null without a run. */
  readonly width95: number | null;
}

/**
 * Forecasts the cascades of a rule for their own share and two others. Where no run is judged, the first judge is taken to be as uncertain
 * as it is sure.
 * @param targets scores of each judged target
 */
export function forecastCascades(
  scorers: readonly PreparedScorer[],
  estimate: CostEstimate,
  targets: readonly (readonly Score[])[],
): CascadeForecast[] {
  return scorers.flatMap(({ name, scorer: { cascade } }) => {
    if (cascade === undefined) {
      return [];
    }
    const found = estimate.scorers.find(({ scorer }) => scorer === name);
    const runs = found?.targets ?? 0;
    const costs = cascade.judges.map(({ judgeModel = '' }) => {
      // A question that could not be written, for want of a key, has no cost that is known.
      return runs === 0 ? 0 : (found?.costsUsd[found.judges.indexOf(judgeModel)] ?? null);
    });
    const [ofFirst = null, ofSecond = null] = costs;
    const known = targets.flatMap((scores) => readRun(name, scores) ?? []);
    const seen = known.length === 0 ? UNKNOWN_RUNS : known;
    return listTerms(cascade.terms).map((terms) => ({
      scorer: name,
      share: terms.share,
      costUsd:
        ofFirst === null || ofSecond === null
          ? null
          : ofFirst + (ofSecond * terms.share) / cascade.terms.share,
      width95: runs === 0 ? null : forecastWidth(seen, terms, runs),
    }));
  });
}

/** Lists half of the share, the share and twice the share; near 1, a quarter in place of the double. */
function listTerms({ share, floor }: CascadeTerms): CascadeTerms[] {
  const shares = [share / 2, share, share > 0.5 ? share / 4 : share * 2];
  return shares
    .toSorted((a, b) => a - b)
    .map((each) => ({ share: Number(each.toFixed(6)), floor: Math.min(floor, each) }));
}

/** Reads what the judges said of a target from the first of its rows; undefined for one without a cascade. */
function readRun(scorer: string, scores: readonly Score[]): SeenRun | undefined {
  const row = scores.find((score) => score.rung > 0 && findRowScorer(score.scorer, [scorer]) === scorer);
  if (row === undefined) {
    return undefined;
  }
  const { firstScore, score, rung, verdicts } = row;
  const first = firstScore ?? score;
  // The verdicts of the first judge are not stored where the second one was asked.
  const spread = Math.sqrt((first * (1 - first)) / Math.max(1, verdicts.length));
  return { score: first, spread, last: rung === 2 ? score : undefined };
}
