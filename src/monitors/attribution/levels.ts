import { CELL_SUMS, type Dimension, type Facts, SUMS } from './fact-table.ts';

/** Runs of the mean level that each value counts as: a value of one run says little about its level. */
const PRIOR_RUNS = 2;

const MAX_ROUNDS = 40;

/** Greatest change of a level in the last round. */
const SETTLED = 1e-5;

/**
 * Predicts the mean of each cell before the change: the mean of all, and the level of each of its values. The levels are fitted to the
 * scores before the change, one dimension after the other (backfitting: A. Buja, T. Hastie and R. Tibshirani, Linear smoothers and additive
 * models, Annals of Statistics 17, 1989), each with a ridge of some runs. A value without runs before the change has no level of its own: it
 * gets that of the other values of its cell.
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
  for (let round = 0, moved = 1; round < MAX_ROUNDS && moved > SETTLED; round += 1) {
    moved = 0;
    for (const [index, dimension] of dimensions.entries()) {
      moved = Math.max(moved, refit(dimension, levels[index] as Float64Array, { predicted, sums, prior }));
    }
  }
  return predicted;
}

/** Fits the levels of one dimension anew, moves the predictions along, and returns the greatest change. */
function refit(
  { codes }: Dimension,
  level: Float64Array,
  { predicted, sums, prior }: { predicted: Float64Array; sums: Float64Array; prior: number },
): number {
  const residual = new Float64Array(level.length);
  const weights = new Float64Array(level.length);
  for (let cell = 0, at = 0; cell < predicted.length; cell += 1, at += CELL_SUMS) {
    const weight = sums[at + 1] as number;
    if (weight > 0) {
      const code = codes[cell] as number;
      residual[code] =
        (residual[code] as number) + (sums[at + 2] as number) - weight * (predicted[cell] as number);
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
