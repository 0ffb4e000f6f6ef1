import type { Bucket } from '../../../src/monitors/bucket.ts';
import { BUCKET_MS } from '../../support/builders/score-streams.ts';

const BUCKETS = 86_400_000 / BUCKET_MS;
/** The scores of the simulation lie on hundredths. */
export const CELLS = 101;

/** Counts scores by hundredth. */
export function buildCells(buckets: Iterable<Bucket>): Int32Array {
  const cells = new Int32Array(CELLS);
  for (const bucket of buckets) {
    add(cells, bucket, 1);
  }
  return cells;
}

/** The scores of the last 24 hours by hundredths: give it each bucket, and read what it returns at once. */
export function dayWindow(): (bucket: Bucket) => Int32Array {
  const held: Bucket[] = [];
  const cells = new Int32Array(CELLS);
  let turn = 0;
  return (bucket) => {
    const oldest = held[turn];
    if (oldest !== undefined) {
      add(cells, oldest, -1);
    }
    held[turn] = bucket;
    add(cells, bucket, 1);
    turn = (turn + 1) % BUCKETS;
    return cells;
  };
}

function add(cells: Int32Array, { scores: { values, counts } }: Bucket, sign: number): void {
  for (let index = 0; index < values.length; index += 1) {
    const cell = Math.round((values[index] ?? 0) * (CELLS - 1));
    cells[cell] = (cells[cell] ?? 0) + sign * (counts[index] ?? 0);
  }
}
