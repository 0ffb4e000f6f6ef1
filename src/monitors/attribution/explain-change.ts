import { nameValues, type SegmentValues } from '../../domain/segment-name.ts';
import { CELL_SUMS, type Dimension, type Facts, SUMS } from './fact-table.ts';
import {
  findCauses,
  findSame,
  type FoundCause,
  membershipOf,
  MOST_VARIANCE,
  type Segment,
  sumGroups,
  weighNormal,
} from './find-causes.ts';
import { fitLevels, meanPrediction } from './levels.ts';

/** Normal quantile of 0.995: a change of the mean below it is within chance. */
const Z_99 = 2.575_829;

/** Part of a change that the mix of the traffic has to explain to be its reason. */
const MOST = 0.5;

/** Least part of the change of a value whose part of the traffic moved. */
const LEAST_MIX_SHARE = 0.1;

/** Part of the change by which the shares of two values count as equal. */
const SAME_SHARE = 0.25;

/** Most values whose part of the traffic moved. */
const MAX_MIX = 5;

/** Change of the mean that is none. */
const NO_CHANGE = 1e-9;

/** Least part of the traffic since the change of a new value that took it over. */
const TAKEN_OVER = 0.8;

/** Most segments of a dimension in an explanation: those with the greatest parts of the change. */
const MAX_SEGMENTS = 50;

/** Runs of a segment in a period. */
export interface Side {
  readonly mean: number;
  readonly n: number;
  /** Part of the weight of all runs of the period. */
  readonly part: number;
}

export interface Cause {
  readonly segment: SegmentValues;
  /** `within`: its scores moved; `mix`: its part of the traffic did. */
  readonly kind: 'within' | 'mix';
  /** Mean before; of a segment without runs before, the expected mean of the same traffic. Null without any. */
  readonly before: number | null;
  readonly after: number | null;
  /** Runs since the change. */
  readonly n: number;
  readonly share: number;
  readonly isNew: boolean;
  readonly evidenceLog10: number;
  /** Segments of the same runs, but for 2 % at most. */
  readonly same: readonly SegmentValues[];
}

export interface SegmentChange {
  readonly value: string;
  readonly before: Side | null;
  readonly after: Side | null;
  readonly isNew: boolean;
  readonly within: number;
  readonly share: number;
}

/** Change by the values of one dimension; `within` and `mix` sum to the change. */
export interface DimensionChange {
  readonly dimension: string;
  readonly within: number;
  readonly mix: number;
  readonly segments: readonly SegmentChange[];
}

export interface ChangeExplanation {
  readonly before: Pick<Side, 'mean' | 'n'> | null;
  readonly after: Pick<Side, 'mean' | 'n'> | null;
  /** Null where a period has no runs. */
  readonly change: number | null;
  readonly verdict: 'segment' | 'mix' | 'everywhere' | 'none';
  /** Of the dimension that explains most. */
  readonly within: number;
  readonly mix: number;
  readonly causes: readonly Cause[];
  readonly dimensions: readonly DimensionChange[];
}

/** Reason of the change of an incident, with a sentence about it. */
export interface AlertCause extends ChangeExplanation {
  readonly sentence: string;
}

/**
 * Explains the change of a mean: by each dimension the part within its values and the part of their mix, and the segments that it comes
 * from.
 */
export function explainChange(facts: Facts): ChangeExplanation {
  const total = totalOf(facts, () => true);
  const [before, after] = [toSide(total.before, total), toSide(total.after, total, 'after')];
  if (before === null || after === null) {
    return {
      ...headOf(before, after),
      change: null,
      verdict: 'none',
      within: 0,
      mix: 0,
      causes: [],
      dimensions: [],
    };
  }
  const change = after.mean - before.mean;
  const levels = fitLevels(facts);
  const split = facts.dimensions.map((dimension) => splitChange(facts, dimension, { levels, total, change }));
  const apart = findCauses(facts, levels, change);
  const rest = apart.length > 0 ? 'segment' : judgeRest(facts, levels, { total, change });
  const found = rest === 'everywhere' ? findSuccessor(facts, split, { total, change }) : apart;
  const causes = found.map((cause) => buildCause(facts, cause, { levels, total, change }));
  const verdict = causes.length > 0 ? 'segment' : rest;
  const moved = [...split].toSorted((a, b) => (b.mix - a.mix) * Math.sign(change));
  const main = verdict === 'mix' ? moved[0] : findMain(split, found[0]?.segment);
  return {
    ...headOf(before, after),
    change,
    verdict,
    within: main?.within ?? change,
    mix: main?.mix ?? 0,
    causes: verdict === 'mix' && main !== undefined ? listMixed(main, { before, after, change }) : causes,
    dimensions: split.map(({ dimension, within, mix, segments }) => ({
      dimension,
      within,
      mix,
      segments: segments.slice(0, MAX_SEGMENTS),
    })),
  };
}

function headOf(before: Side | null, after: Side | null): Pick<ChangeExplanation, 'before' | 'after'> {
  return {
    before: before && { mean: before.mean, n: before.n },
    after: after && { mean: after.mean, n: after.n },
  };
}

/** Sums of some cells in both periods. */
interface Totals {
  readonly before: Float64Array;
  readonly after: Float64Array;
}

interface Whole {
  readonly total: Totals;
  readonly change: number;
}

function totalOf({ sums }: Facts, isIn: (cell: number) => boolean): Totals {
  const both = sumGroups(sums, { size: 1, find: (cell) => (isIn(cell) ? 0 : -1) });
  return { before: both.subarray(0, SUMS), after: both.subarray(SUMS) };
}

function toSide(
  [n = 0, weight = 0, sum = 0]: Float64Array,
  total: Totals,
  period: keyof Totals = 'before',
): Side | null {
  return weight > 0 ? { mean: sum / weight, n, part: weight / (total[period][1] ?? 0) } : null;
}

/** A dimension with all of its segments, and its index. */
type Split = DimensionChange & { readonly source: Dimension };

/**
 * Splits the change by a dimension (E. M. Kitagawa, Components of a difference between two rates, JASA 50, 1955): each value is compared
 * with its own past, and a value that only grew or shrank counts as mix. A value without a past, as a new version, is compared with what the
 * other values of its runs let expect, and its whole difference is within. A value without runs since the change counts as mix.
 */
function splitChange(
  facts: Facts,
  source: Dimension,
  { levels, total, change }: Whole & { readonly levels: Float64Array },
): Split {
  const { values, codes } = source;
  const sums = sumGroups(facts.sums, { size: values.length, find: (cell) => codes[cell] as number });
  const expected = new Float64Array(values.length);
  for (let cell = 0, at = 0; cell < facts.cells; cell += 1, at += CELL_SUMS) {
    const code = codes[cell] as number;
    expected[code] =
      (expected[code] as number) + (levels[cell] as number) * (facts.sums[at + SUMS + 1] as number);
  }
  const sides = values.flatMap((value, code) => {
    const at = code * CELL_SUMS;
    const before = toSide(sums.subarray(at, at + SUMS), total);
    const after = toSide(sums.subarray(at + SUMS, at + CELL_SUMS), total, 'after');
    if (before === null && after === null) {
      return [];
    }
    const reference = (expected[code] as number) / (sums[at + SUMS + 1] as number);
    return [{ value, before, after, reference, isNew: before === null }];
  });
  const succeeded = succeededPart(sides);
  const segments = sides.map(({ reference, ...segment }): SegmentChange => {
    const within = withinOf(segment, reference, succeeded);
    return { ...segment, within, share: shareOf(within, change) };
  });
  const within = segments.reduce((sum, segment) => sum + segment.within, 0);
  const runsOf = ({ before, after }: SegmentChange) => (before?.n ?? 0) + (after?.n ?? 0);
  return {
    source,
    dimension: source.name,
    within,
    mix: change - within,
    segments: segments.toSorted((a, b) => b.share - a.share || runsOf(b) - runsOf(a)),
  };
}

type Sides = Pick<SegmentChange, 'before' | 'after'>;

function lossOf({ before, after }: Sides): number {
  return Math.max(0, (before?.part ?? 0) - (after?.part ?? 0));
}

/**
 * Part of what the other values lost that new values took over, from 0 to 1: these runs count with the new value, not with the mix and not with
 * the former value, or a deploy that is not whole would count twice.
 */
function succeededPart(sides: readonly Sides[]): number {
  const taken = sides.reduce((sum, { before, after }) => sum + (before === null ? (after?.part ?? 0) : 0), 0);
  const lost = sides.reduce((sum, each) => sum + lossOf(each), 0);
  return lost > 0 ? Math.min(1, taken / lost) : 0;
}

function withinOf(sides: Sides, reference: number, succeeded = 0): number {
  const { before, after } = sides;
  if (after === null) {
    return 0;
  }
  return before === null
    ? after.part * (after.mean - reference)
    : ((before.part - succeeded * lossOf(sides) + after.part) / 2) * (after.mean - before.mean);
}

function shareOf(part: number, change: number): number {
  return Math.abs(change) > NO_CHANGE ? part / change : 0;
}

/** Bounds an expected mean by the means of cells before the change: a sum of levels can lie beyond the scale of the scores. */
function boundExpected({ sums }: Facts, expected: number | null): number | null {
  let [least, greatest] = [Infinity, -Infinity];
  for (let at = 0; at < sums.length; at += CELL_SUMS) {
    const [, weight = 0, sum = 0] = sums.subarray(at, at + SUMS);
    if (weight > 0) {
      [least, greatest] = [Math.min(least, sum / weight), Math.max(greatest, sum / weight)];
    }
  }
  return expected === null ? null : Math.min(greatest, Math.max(least, expected));
}

function buildCause(
  facts: Facts,
  { segment, evidence, same }: FoundCause,
  { levels, total, change }: Whole & { readonly levels: Float64Array },
): Cause {
  const isIn = membershipOf(facts, segment);
  const own = totalOf(facts, isIn);
  const [before, after] = [toSide(own.before, total), toSide(own.after, total, 'after')];
  const reference = meanPrediction(facts, levels, isIn);
  return {
    segment: nameSegment(facts, segment),
    kind: 'within',
    before: before?.mean ?? boundExpected(facts, reference),
    after: after?.mean ?? null,
    n: after?.n ?? 0,
    share: shareOf(withinOf({ before, after }, reference ?? 0), change),
    isNew: before === null,
    evidenceLog10: evidence / Math.LN10,
    same: same.map((each) => nameSegment(facts, each)),
  };
}

function nameSegment({ dimensions }: Facts, segment: Segment): SegmentValues {
  return Object.fromEntries(
    segment.map(({ dimension, code }) => [
      dimensions[dimension]?.name ?? '',
      dimensions[dimension]?.values[code] ?? '',
    ]),
  );
}

/**
 * Judges a change that no segment explains. What the mix lets expect varies less than the scores themselves, so it has a test of its own.
 */
function judgeRest(
  facts: Facts,
  levels: Float64Array,
  { total, change }: Whole,
): Exclude<ChangeExplanation['verdict'], 'segment'> {
  const mixed = totalOf({ ...facts, sums: replaceScores(facts.sums, levels) }, () => true);
  const expected =
    (mixed.after[2] ?? 0) / (mixed.after[1] ?? 1) - (mixed.before[2] ?? 0) / (mixed.before[1] ?? 1);
  const part = shareOf(expected, change);
  if (part > MOST && part < 1 / MOST && isBeyondChance(expected, mixed)) {
    return 'mix';
  }
  return Math.abs(change) > NO_CHANGE && isBeyondChance(change, total) ? 'everywhere' : 'none';
}

function isBeyondChance(change: number, total: Totals): boolean {
  return Math.abs(change) > Z_99 * errorOfChange(total);
}

function errorOfChange({ before, after }: Totals): number {
  return Math.sqrt(varianceOfMean(before) + varianceOfMean(after));
}

/**
 * Finds the new value that took over the traffic, as a version that was deployed everywhere: nearly all runs since the change have it, so no
 * rest is left that it could have fallen further than. It is no cause where the few runs without it moved, too.
 */
function findSuccessor(facts: Facts, split: readonly Split[], { total, change }: Whole): FoundCause[] {
  const [first, ...others] = split
    .flatMap(({ source, segments }, dimension) =>
      segments
        .filter(({ isNew, after }) => isNew && !source.isList && (after?.part ?? 0) >= TAKEN_OVER)
        .map(({ value, after }) => ({
          segment: [{ dimension, code: source.values.indexOf(value) }],
          runs: after?.n ?? 0,
        })),
    )
    .toSorted((a, b) => b.runs - a.runs);
  if (first === undefined) {
    return [];
  }
  const isIn = membershipOf(facts, first.segment);
  const rest = totalOf(facts, (cell) => !isIn(cell));
  const [before, after] = [toSide(rest.before, total), toSide(rest.after, total, 'after')];
  if (before !== null && after !== null && isBeyondChance(after.mean - before.mean, rest)) {
    return [];
  }
  const evidence = weighNormal(Math.abs(change) / errorOfChange(total));
  return [{ segment: first.segment, evidence, same: findSame(facts, first, others) }];
}

/** Returns the sums as if each score were the level of its cell. */
function replaceScores(sums: Float64Array, levels: Float64Array): Float64Array {
  const replaced = sums.slice();
  for (let at = 0; at < replaced.length; at += SUMS) {
    const level = levels[Math.floor(at / CELL_SUMS)] ?? 0;
    replaced[at + 2] = level * (replaced[at + 1] ?? 0);
    replaced[at + 4] = level * (replaced[at + 3] ?? 0);
    replaced[at + 5] = level ** 2 * (replaced[at + 3] ?? 0);
  }
  return replaced;
}

/** Variance of a weighted mean. One run more of the greatest variance counts: equal scores of few runs prove nothing by themselves. */
function varianceOfMean([
  n = 0,
  weight = 0,
  sum = 0,
  squaredWeight = 0,
  sum2 = 0,
  squares2 = 0,
]: Float64Array): number {
  const mean = sum / weight;
  const squares = Math.max(0, squares2 - 2 * mean * sum2 + mean * mean * squaredWeight);
  return (squares + (MOST_VARIANCE * squaredWeight) / n) / weight ** 2;
}

/** Finds the dimension that explains most: that of the first cause, else the one with the most within. */
function findMain(split: readonly Split[], segment: Segment = []): Split | undefined {
  const named = segment.flatMap(({ dimension, code }) => {
    const found = split[dimension];
    const value = found?.source.values[code];
    const share = found?.segments.find((each) => each.value === value)?.share ?? 0;
    return found === undefined ? [] : [{ found, share }];
  });
  const ranked = named.length > 0 ? named : split.map((found) => ({ found, share: -Math.abs(found.mix) }));
  return ranked.toSorted((a, b) => b.share - a.share)[0]?.found;
}

/**
 * Lists the values whose part of the traffic moved, with what that moved: the change of the part times the distance of the value's mean from
 * the mean of the values whose parts moved the other way. So the values that grew sum to the mix, and the values that shrank do, too. The
 * side with the value that tells most is listed.
 */
function listMixed(
  { dimension, segments }: Split,
  {
    before: allBefore,
    after: allAfter,
    change,
  }: { readonly before: Side; readonly after: Side; readonly change: number },
): Cause[] {
  const moves = segments.map(({ value, before, after, isNew }) => {
    const old = before ?? { mean: after?.mean ?? 0, n: 0, part: 0 };
    const present = after ?? { mean: old.mean, n: 0, part: 0 };
    const pooled = (old.n + present.n) / (allBefore.n + allAfter.n);
    const error = Math.sqrt(pooled * (1 - pooled) * (1 / allBefore.n + 1 / allAfter.n));
    const moved = present.part - old.part;
    return {
      value,
      isNew,
      moved,
      mean: (old.mean + present.mean) / 2,
      before: before && old.mean,
      after: after && present.mean,
      n: present.n,
      evidenceLog10: error > 0 ? (moved / error) ** 2 / 2 / Math.LN10 : 0,
    };
  });
  const sides = [1, -1].map((sign) => {
    const others = moves.filter(({ moved }) => moved * sign < 0);
    const sum = others.reduce((total, { moved }) => total + moved, 0);
    const from = others.reduce((total, { moved, mean }) => total + moved * mean, 0) / sum;
    return moves
      .filter(({ moved }) => moved * sign > 0)
      .map(({ value, moved, mean, ...each }): Cause => ({
        segment: { [dimension]: value },
        kind: 'mix',
        ...each,
        share: shareOf(moved * (mean - from), change),
        same: [],
      }))
      .filter(({ share }) => share >= LEAST_MIX_SHARE)
      .toSorted((a, b) => b.share - a.share);
  });
  const [grown = [], shrunk = []] = sides;
  const mostOf = ([first]: readonly Cause[]) => first?.share ?? 0;
  return (mostOf(shrunk) > mostOf(grown) + SAME_SHARE ? shrunk : grown).slice(0, MAX_MIX);
}

/** Writes the reason of a change in one sentence: `−0.07 in grounding: 92 % within agent version 3.2 × tool search (0.81 → 0.64), mix 3 %.` */
export function writeSentence(explanation: ChangeExplanation, subject: string): string {
  const { change, verdict, causes, before, after, mix } = explanation;
  const named = subject === '' ? '' : ` in ${subject}`;
  if (change === null || before === null || after === null) {
    return `The change${named} has no reason: a period has no runs.`;
  }
  const [first] = causes;
  const means = `${formatMean(before.mean)} → ${formatMean(after.mean)}`;
  const head = `${change < 0 ? '−' : '+'}${formatMean(Math.abs(change))}${named}`;
  if (verdict === 'none') {
    return `No change${named} beyond chance (${means}).`;
  }
  if (verdict === 'everywhere' || first === undefined) {
    return `${head}: everywhere (${means}), no segment moved further than the rest.`;
  }
  const share = formatShare(first.share);
  const others = first.same.map((each) => ` or ${nameValues(each)}`).join('');
  const name = `${nameValues(first.segment)}${others}`;
  if (verdict === 'mix') {
    return `${head}: the mix of the traffic, ${share} by the part of ${name} (mean ${formatMean(first.after ?? first.before ?? 0)}).`;
  }
  const from = first.before === null ? '' : `${formatMean(first.before)} → `;
  const values = `${first.isNew ? 'new, ' : ''}${from}${formatMean(first.after ?? 0)}`;
  return `${head}: ${share} within ${name} (${values}), mix ${formatShare(shareOf(mix, change))}.`;
}

function formatMean(value: number): string {
  return value.toFixed(2);
}

function formatShare(share: number): string {
  const percent = Math.round(share * 100);
  return `${percent < 0 ? '−' : ''}${Math.abs(percent)} %`;
}
