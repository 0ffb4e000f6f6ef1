import { CELL_SUMS, type Dimension, type Facts, SUMS } from './fact-table.ts';

/** Runs of the mean level that each value counts as: a value of one run says little about its level. */
const PRIOR_RUNS = 2;

/** Runs before the change below which the past of a value tells no level, and how many times as many it has since then. */
const THIN = { runs: 30, times: 3 };

const MAX_ROUNDS = 40;

/** Greatest change of a level in the last round. */
const SETTLED = 1e-5;

/**
 * Predicts the mean of each cell before the change: the mean of all, and the level of each of its values. The levels are fitted to the
 * scores before the change, one dimension after the other (backfitting: A. Buja, T. Hastie and R. Tibshirani, Linear smoothers and additive
 * models, Annals of Statistics 17, 1989), each with a ridge of some runs. A value without runs before the change has no level of its own: it
 * gets the level of the other values of its cell. The level of a value of few runs before and many since, as a version that was being deployed, is
 * fitted to both: an error of its level would look like a fall of all that comes along with it.
 */
export function fitLevels({ dimensions, cells, sums }: Facts): Float64Array {
  let [runs, weight, total] = [0, 0, 0];
  for (let at = 0; at < sums.length; at += CELL_SUMS) {
    runs += sums[at] ?? 0;
    weight += sums[at + 1] ?? 0;
    total += sums[at + 2] ?? 0;
  }
  const predicted = new Float64Array(cells);
  if (weight === 0) {
    return predicted;
  }
  predicted.fill(total / weight);
  const levels = dimensions.map(({ values }) => new Float64Array(values.length));
  const prior = (PRIOR_RUNS * weight) / runs;
  const thin = dimensions.map((dimension) => findThin(dimension, sums));
  for (let round = 0, moved = 1; round < MAX_ROUNDS && moved > SETTLED; round += 1) {
    moved = 0;
    for (const [index, dimension] of dimensions.entries()) {
      const isThin = thin[index] as Uint8Array;
      moved = Math.max(
        moved,
        refit(dimension, levels[index] as Float64Array, { predicted, sums, prior, isThin }),
      );
    }
  }
  return predicted;
}

/** Marks the values of a dimension whose past is too short to tell their level. */
function findThin({ codes, values }: Dimension, sums: Float64Array): Uint8Array {
  const [before, after] = [new Float64Array(values.length), new Float64Array(values.length)];
  for (let cell = 0, at = 0; at < sums.length; cell += 1, at += CELL_SUMS) {
    const code = codes[cell] as number;
    before[code] = (before[code] as number) + (sums[at] as number);
    after[code] = (after[code] as number) + (sums[at + SUMS] as number);
  }
  return Uint8Array.from(before, (runs, code) =>
    runs > 0 && runs < THIN.runs && (after[code] ?? 0) > THIN.times * runs ? 1 : 0,
  );
}

/** Fits the levels of one dimension anew, moves the predictions along, and returns the greatest change. */
function refit(
  { codes }: Dimension,
  level: Float64Array,
  {
    predicted,
    sums,
    prior,
    isThin,
  }: { predicted: Float64Array; sums: Float64Array; prior: number; isThin: Uint8Array },
): number {
  const residual = new Float64Array(level.length);
  const weights = new Float64Array(level.length);
  for (let cell = 0, at = 0; cell < predicted.length; cell += 1, at += CELL_SUMS) {
    const code = codes[cell] as number;
    const isBoth = isThin[code] === 1;
    const weight = (sums[at + 1] as number) + (isBoth ? (sums[at + SUMS + 1] as number) : 0);
    if (weight > 0) {
      const sum = (sums[at + 2] as number) + (isBoth ? (sums[at + SUMS + 2] as number) : 0);
      residual[code] = (residual[code] as number) + sum - weight * (predicted[cell] as number);
      weights[code] = (weights[code] as number) + weight;
    }
  }
  const step = residual.map((sum, code) => {
    const weight = weights[code] ?? 0;
    return weight === 0 ? 0 : (sum - prior * (level[code] ?? 0)) / (weight + prior);
  });
  let moved = 0;
  for (const [code, change] of step.entries()) {
    level[code] = (level[code] as number) + change;
    moved = Math.max(moved, Math.abs(change));
  }
  for (let cell = 0; cell < predicted.length; cell += 1) {
    predicted[cell] = (predicted[cell] as number) + (step[codes[cell] as number] as number);
  }
  return moved;
}

/** Mean of the predictions of the cells that a test selects, by their weight since the change; null without one. */
export function meanPrediction(
  { sums }: Facts,
  predicted: Float64Array,
  isIn: (cell: number) => boolean,
): number | null {
  let [weight, total] = [0, 0];
  for (const [cell, level] of predicted.entries()) {
    if (isIn(cell)) {
      const each = sums[cell * CELL_SUMS + SUMS + 1] ?? 0;
      weight += each;
      total += each * level;
    }
  }
  return weight === 0 ? null : total / weight;
}
