import type { Contender } from '../../support/monitors/drift-simulation.ts';
import { momentary } from './momentary.ts';

const DELTA = 0.002;
/** Cuts are looked for after this many scores. */
const CLOCK = 32;
/** Cells of one size that are kept before two become one of twice the size. */
const MAX_OF_SIZE = 5;
/** Scores on either side of a cut, at least. */
const MIN_SIDE = 5;
const MIN_SCORES = 10;

/** Scores that stand together in the window: how many, their sum, and the sum of squared distances from their mean. */
interface Cell {
  readonly count: number;
  readonly sum: number;
  readonly spread: number;
}

/**
 * ADWIN (Bifet and Gavaldà, SDM 2007) with the customary δ = 0.002: a window that is cut where the means of its two parts
 * differ by more than chance allows. It fires at a moment, either way, and takes what follows for normal.
 */
export function adwin(): Contender {
  return momentary('ADWIN δ=.002', adwinStep);
}

/** Takes a score; whether the window was cut. */
export function adwinStep(): (score: number) => boolean {
  /** Oldest first; sizes are powers of two and never rise. */
  let cells: Cell[] = [];
  let seen = 0;
  return (score) => {
    cells.push({ count: 1, sum: score, spread: 0 });
    compress(cells);
    seen += 1;
    if (seen % CLOCK !== 0) {
      return false;
    }
    let cut = false;
    while (hasCut(cells)) {
      cells = cells.slice(1);
      cut = true;
    }
    return cut;
  };
}

/** Joins the two oldest of a size where there are too many, from the smallest size up. */
function compress(cells: Cell[]): void {
  let end = cells.length;
  for (;;) {
    const size = cells[end - 1]?.count;
    let start = end;
    while (start > 0 && cells[start - 1]?.count === size) {
      start -= 1;
    }
    if (end - start <= MAX_OF_SIZE) {
      return;
    }
    const [first, second] = [cells[start], cells[start + 1]];
    if (first === undefined || second === undefined) {
      return;
    }
    cells.splice(start, 2, joined(first, second));
    end = start + 1;
  }
}

function joined(first: Cell, second: Cell): Cell {
  const count = first.count + second.count;
  const distance = first.sum / first.count - second.sum / second.count;
  const between = ((first.count * second.count) / count) * distance ** 2;
  return { count, sum: first.sum + second.sum, spread: first.spread + second.spread + between };
}

function hasCut(cells: readonly Cell[]): boolean {
  if (cells.length < 2) {
    return false;
  }
  const whole = cells.reduce(joined);
  if (whole.count < MIN_SCORES) {
    return false;
  }
  const variance = whole.spread / whole.count;
  const doubt = Math.log((2 * Math.log(whole.count)) / DELTA);
  let count = 0;
  let sum = 0;
  for (const cell of cells) {
    count += cell.count;
    sum += cell.sum;
    const rest = whole.count - count;
    if (rest < MIN_SIDE) {
      return false;
    }
    if (count < MIN_SIDE) {
      continue;
    }
    const size = 1 / (1 / (count - MIN_SIDE + 1) + 1 / (rest - MIN_SIDE + 1));
    const bound = Math.sqrt((2 / size) * variance * doubt) + (2 / (3 * size)) * doubt;
    if (Math.abs(sum / count - (whole.sum - sum) / rest) > bound) {
      return true;
    }
  }
  return false;
}
