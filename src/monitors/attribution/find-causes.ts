import { leastDiscovery } from '../version-compare.ts';
import { CELL_SUMS, type Dimension, type Facts, SUMS } from './fact-table.ts';

/** Fewest runs since the change of a candidate, and of the rest of the traffic on each side. */
const MIN_RUNS = 10;

/** Most causes of a change. */
const MAX_CAUSES = 5;

/** Most values of a dimension that are candidates: those of the most runs. */
const MAX_VALUES = 40;

/** Most dimensions that are paired: those with the value that moved most by itself. */
const MAX_PAIRED = 24;

/** Least part of the change that a cause explains. */
const LEAST_SHARE = 0.03;

/** Variance of the effect under the alternative, in squared standard errors. */
const SPREAD = 12;

/** Evidence (natural logarithm) by which a pair has to beat a single value. */
const PAIR_MARGIN = 4;

/** Scores of the usual spread that each group counts as: equal scores of few runs prove nothing by themselves. */
const PRIOR_SPREAD = 10;

/** Greatest variance of a score from 0 to 1. */
export const MOST_VARIANCE = 1 / 4;

/** Part of the runs by which two segments may differ that cannot be told apart. */
const SAME_RUNS = 0.02;

/** Values that a segment has: one, or two of different facets. `dimension` is an index. */
export type Segment = readonly { readonly dimension: number; readonly code: number }[];

/** Segment that moved further than the rest of the traffic. */
export interface FoundCause {
  readonly segment: Segment;
  /** Natural logarithm of the e-value. */
  readonly evidence: number;
  /** Segments of the same runs. */
  readonly same: readonly Segment[];
}

/** Sums of a group of cells, with the residuals in place of the scores. */
type Sums = Float64Array;

interface Candidate {
  readonly segment: Segment;
  readonly sums: Sums;
  readonly effect: number;
  readonly evidence: number;
}

/**
 * Finds the segments that moved in the direction of the change and further than the rest of the traffic. Each score is compared with the
 * level of its values before the change, and a segment with its own past: a difference of differences, as a normal statistic. Its e-value
 * is a mixture of likelihood ratios over effects in this direction (H. Robbins, Statistical methods related to the law of the iterated
 * logarithm, Annals of Mathematical Statistics 41, 1970). Candidates pass by e-BH (R. Wang and A. Ramdas, False discovery rate control with
 * e-values, JRSS-B 84, 2022), which holds under any dependence. The one with the most evidence is a cause; its effect is taken out of the
 * scores, and the rest is tested again: so a value that only comes along with the cause is none.
 * @param levels mean of each cell that its values let expect
 * @param change of the mean
 */
export function findCauses(facts: Facts, levels: Float64Array, change: number): FoundCause[] {
  const direction = change < 0 ? -1 : 1;
  const weight = facts.sums.reduce((sum, value, at) => sum + (at % CELL_SUMS === SUMS + 1 ? value : 0), 0);
  const reach = ({ effect, sums }: Candidate) => (Math.abs(effect) * (sums[SUMS + 1] ?? 0)) / weight;
  const effects = new Float64Array(facts.cells);
  const found: Candidate[] = [];
  let first: readonly Candidate[] = [];
  while (found.length < MAX_CAUSES) {
    const { candidates, count } = testCandidates(facts, { levels, effects, direction });
    first = found.length === 0 ? candidates : first;
    const sorted = candidates.toSorted((a, b) => b.evidence - a.evidence);
    const least = leastDiscovery(
      sorted.map(({ evidence }) => evidence),
      count,
    );
    const passing = sorted
      .filter(({ evidence }) => evidence >= least)
      .filter((candidate) => reach(candidate) >= LEAST_SHARE * Math.abs(change))
      .filter(({ segment }) => !found.some((known) => isEqual(known.segment, segment)));
    const best = maxBy(passing, ({ evidence, segment }) => evidence - (segment.length - 1) * PAIR_MARGIN);
    if (best === undefined) {
      break;
    }
    found.push(best);
    const isIn = membershipOf(facts, best.segment);
    for (let cell = 0; cell < facts.cells; cell += 1) {
      effects[cell] = (effects[cell] ?? 0) + (isIn(cell) ? best.effect : 0);
    }
  }
  return found
    .toSorted((a, b) => reach(b) - reach(a))
    .map((cause) => ({
      segment: cause.segment,
      evidence: cause.evidence,
      same: findSame(facts, countRuns(cause), first.map(countRuns)),
    }));
}

interface Residuals {
  readonly levels: Float64Array;
  readonly effects: Float64Array;
  readonly direction: number;
}

/** Tests every value, then pairs of values of the dimensions that moved most. */
function testCandidates(
  facts: Facts,
  terms: Residuals,
): { readonly candidates: readonly Candidate[]; readonly count: number } {
  const residuals = computeResiduals(facts, terms);
  const all = sumGroups(residuals, { size: 1, find: () => 0 });
  const spread = usualSpread(facts.sums);
  const test = (segment: Segment, sums: Sums) => testSegment(segment, { sums, all, spread, ...terms });
  const ranked = facts.dimensions.map((dimension, index) => rankValues(facts, dimension, index));
  const singles = ranked.map(({ codes, ranks, index }) => {
    const groups = sumGroups(residuals, { size: codes.length, find: (cell) => ranks[cell] as number });
    return codes.map((code, rank) =>
      test([{ dimension: index, code }], groups.subarray(rank * CELL_SUMS, (rank + 1) * CELL_SUMS)),
    );
  });
  const paired = ranked
    .map((values, index) => ({
      values,
      most: Math.max(Number.NEGATIVE_INFINITY, ...(singles[index] ?? []).map(({ evidence }) => evidence)),
    }))
    .toSorted((a, b) => b.most - a.most)
    .slice(0, MAX_PAIRED)
    .map(({ values }) => values)
    .toSorted((a, b) => a.index - b.index);
  const candidates = singles.flat();
  let count = candidates.length;
  for (const [place, left] of paired.entries()) {
    for (const right of paired.slice(place + 1)) {
      if (facts.dimensions[left.index]?.name === facts.dimensions[right.index]?.name) {
        continue;
      }
      const groups = sumPairs(residuals, left, right);
      for (let at = 0, pair = 0; at < groups.length; at += CELL_SUMS, pair += 1) {
        if ((groups[at + SUMS] as number) < MIN_RUNS) {
          continue;
        }
        count += 1;
        const segment = [
          { dimension: left.index, code: left.codes[Math.floor(pair / right.codes.length)] ?? 0 },
          { dimension: right.index, code: right.codes[pair % right.codes.length] ?? 0 },
        ];
        const tested = test(segment, groups.subarray(at, at + CELL_SUMS));
        if (tested.evidence > 0) {
          candidates.push(tested);
        }
      }
    }
  }
  return { candidates: candidates.filter(({ evidence }) => evidence > 0), count };
}

interface RankedValues {
  readonly index: number;
  readonly codes: readonly number[];
  /** Place of the value of each cell in `codes`; -1 for none. */
  readonly ranks: Int16Array;
}

function rankValues(
  { cells, sums }: Facts,
  { values, isList, codes }: Dimension,
  index: number,
): RankedValues {
  const runs = new Float64Array(values.length);
  for (let cell = 0; cell < cells; cell += 1) {
    const code = codes[cell] as number;
    runs[code] = (runs[code] as number) + (sums[cell * CELL_SUMS + SUMS] as number);
  }
  const chosen = [...runs.keys()]
    .filter((code) => (runs[code] ?? 0) >= MIN_RUNS && !(isList && code === 0))
    .toSorted((a, b) => (runs[b] ?? 0) - (runs[a] ?? 0))
    .slice(0, MAX_VALUES);
  const rankOfCode = new Int16Array(values.length).fill(-1);
  for (const [rank, code] of chosen.entries()) {
    rankOfCode[code] = rank;
  }
  const ranks = new Int16Array(cells);
  for (let cell = 0; cell < cells; cell += 1) {
    ranks[cell] = rankOfCode[codes[cell] as number] as number;
  }
  return { index, codes: chosen, ranks };
}

/** Replaces the scores in the sums of each cell by their distance from what the cell lets expect. */
function computeResiduals({ cells, sums }: Facts, { levels, effects }: Residuals): Sums {
  const residuals = sums.slice();
  for (let cell = 0; cell < cells; cell += 1) {
    const level = levels[cell] as number;
    shiftSums(residuals, cell * CELL_SUMS, level);
    shiftSums(residuals, cell * CELL_SUMS + SUMS, level + (effects[cell] as number));
  }
  return residuals;
}

function shiftSums(sums: Sums, at: number, by: number): void {
  const [weight, squaredWeight, sum2] = [sums[at + 1] ?? 0, sums[at + 3] ?? 0, sums[at + 4] ?? 0];
  sums[at + 2] = (sums[at + 2] ?? 0) - by * weight;
  sums[at + 4] = sum2 - by * squaredWeight;
  sums[at + 5] = (sums[at + 5] ?? 0) - 2 * by * sum2 + by * by * squaredWeight;
}

/** Sums the cells by group; a negative number is no group. */
export function sumGroups(
  residuals: Sums,
  { size, find }: { readonly size: number; readonly find: (cell: number) => number },
): Sums {
  const groups = new Float64Array(size * CELL_SUMS);
  for (let cell = 0, at = 0; at < residuals.length; cell += 1, at += CELL_SUMS) {
    const group = find(cell);
    if (group >= 0) {
      addSums(groups, group * CELL_SUMS, residuals, at);
    }
  }
  return groups;
}

function sumPairs(residuals: Sums, left: RankedValues, right: RankedValues): Sums {
  const width = right.codes.length;
  const groups = new Float64Array(left.codes.length * width * CELL_SUMS);
  for (let cell = 0, at = 0; at < residuals.length; cell += 1, at += CELL_SUMS) {
    const row = left.ranks[cell] as number;
    const column = right.ranks[cell] as number;
    if (row >= 0 && column >= 0) {
      addSums(groups, (row * width + column) * CELL_SUMS, residuals, at);
    }
  }
  return groups;
}

function addSums(target: Sums, to: number, source: Sums, from: number): void {
  // Most cells have runs in one period only.
  for (let period = 0; period < CELL_SUMS; period += SUMS) {
    if ((source[from + period] as number) > 0) {
      for (let index = period; index < period + SUMS; index += 1) {
        target[to + index] = (target[to + index] as number) + (source[from + index] as number);
      }
    }
  }
}

/** Variance of one score since the change, weights aside. One run more of the greatest variance counts, so that it is never 0. */
function usualSpread(sums: Sums): number {
  const all = sumGroups(sums, { size: 1, find: () => 0 });
  const after = all.subarray(SUMS);
  return varianceOf(after, 0) * countEffective(after) + MOST_VARIANCE / (after[0] ?? 1);
}

/** Number of equally weighted runs that tell as much (L. Kish, Survey Sampling, 1965). */
function countEffective([, weight = 0, , squaredWeight = 0]: Sums): number {
  return squaredWeight === 0 ? 0 : weight ** 2 / squaredWeight;
}

/** Variance of the weighted mean of a group, its spread drawn towards the usual one. */
function varianceOf(sums: Sums, spread: number): number {
  const [n = 0, weight = 0, sum = 0, squaredWeight = 0, sum2 = 0, squares2 = 0] = sums;
  const mean = sum / weight;
  const own = Math.max(0, squares2 - 2 * mean * sum2 + mean * mean * squaredWeight) / squaredWeight;
  const prior = spread === 0 ? 0 : PRIOR_SPREAD;
  return (own * n + prior * spread) / (n + prior) / countEffective(sums);
}

/** Tests whether a segment moved in the direction of the change, and further than the rest of the traffic. */
function testSegment(
  segment: Segment,
  {
    sums,
    all,
    spread,
    direction,
  }: { readonly sums: Sums; readonly all: Sums; readonly spread: number; readonly direction: number },
): Candidate {
  const rest = all.map((value, index) => value - (sums[index] ?? 0));
  const [before, after] = [sums.subarray(0, SUMS), sums.subarray(SUMS)];
  const [restBefore, restAfter] = [rest.subarray(0, SUMS), rest.subarray(SUMS)];
  const meanOf = ([, weight = 0, sum = 0]: Sums) => sum / weight;
  const isNew = (before[0] ?? 0) === 0;
  const hasRest = (restBefore[0] ?? 0) >= MIN_RUNS && (restAfter[0] ?? 0) >= MIN_RUNS;
  if (!hasRest && (!isNew || (restBefore[0] ?? 0) === 0)) {
    return { segment, sums, effect: 0, evidence: Number.NEGATIVE_INFINITY };
  }
  let effect = meanOf(after) - (isNew ? 0 : meanOf(before));
  let variance = varianceOf(after, spread) + varianceOf(isNew ? restBefore : before, spread);
  if (hasRest) {
    effect -= meanOf(restAfter) - meanOf(restBefore);
    variance += varianceOf(restAfter, spread) + (isNew ? 0 : varianceOf(restBefore, spread));
  }
  const z = variance > 0 ? (direction * effect) / Math.sqrt(variance) : 0;
  return { segment, sums, effect, evidence: weighNormal(z) };
}

/**
 * Natural logarithm of the e-value of a normal statistic against "its mean is 0 at most": the likelihood ratio, mixed over positive means by
 * half a normal distribution of variance `SPREAD`.
 */
export function weighNormal(z: number): number {
  if (z <= 0) {
    return Number.NEGATIVE_INFINITY;
  }
  const part = SPREAD / (1 + SPREAD);
  return Math.log(2 * normalCdf(z * Math.sqrt(part))) - Math.log(1 + SPREAD) / 2 + (z * z * part) / 2;
}

/** Computes the distribution function of the normal distribution from 0 on (M. Abramowitz and I. Stegun, 26.2.17, within 1e-7). */
export function normalCdf(x: number): number {
  const t = 1 / (1 + 0.231_641_9 * x);
  const series = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
  const tail = series.reduceRight((sum, factor) => (sum + factor) * t, 0);
  return 1 - (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * tail;
}

export function membershipOf({ dimensions }: Facts, segment: Segment): (cell: number) => boolean {
  const parts = segment.map(({ dimension, code }) => ({ codes: dimensions[dimension]?.codes, code }));
  return (cell) => parts.every(({ codes, code }) => codes?.[cell] === code);
}

/** Segment with its number of runs, before and since. */
export interface CountedSegment {
  readonly segment: Segment;
  readonly runs: number;
}

function countRuns({ segment, sums }: Candidate): CountedSegment {
  return { segment, runs: (sums[0] ?? 0) + (sums[SUMS] ?? 0) };
}

/** Lists the segments that have the runs of a cause, but for a few. */
export function findSame(
  facts: Facts,
  { segment: cause, runs: own }: CountedSegment,
  candidates: readonly CountedSegment[],
): Segment[] {
  const isIn = membershipOf(facts, cause);
  return candidates
    .filter(({ segment }) => segment.length === cause.length && !isEqual(segment, cause))
    .filter(({ runs }) => Math.abs(runs - own) <= SAME_RUNS * own)
    .filter(({ segment }) => {
      const isOther = membershipOf(facts, segment);
      let apart = 0;
      for (let cell = 0, at = 0; cell < facts.cells; cell += 1, at += CELL_SUMS) {
        if (isIn(cell) !== isOther(cell)) {
          apart += (facts.sums[at] ?? 0) + (facts.sums[at + SUMS] ?? 0);
        }
      }
      return apart <= SAME_RUNS * own;
    })
    .map(({ segment }) => segment);
}

function isEqual(left: Segment, right: Segment): boolean {
  return (
    left.length === right.length &&
    left.every(
      ({ dimension, code }, index) => right[index]?.dimension === dimension && right[index].code === code,
    )
  );
}

function maxBy<Item>(items: readonly Item[], measure: (item: Item) => number): Item | undefined {
  let best: Item | undefined;
  for (const item of items) {
    best = best === undefined || measure(item) > measure(best) ? item : best;
  }
  return best;
}
