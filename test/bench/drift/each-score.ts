import type { Bucket } from '../../../src/monitors/bucket.ts';
import { seededRandom } from '../../support/builders/score-streams.ts';

/**
 * The scores of a bucket one by one, for detectors that know no buckets: in an order of chance, since a sorted one would
 * be a drift of its own within each bucket.
 */
export function* eachScore({ startMs, scores: { values, counts } }: Bucket): Generator<number> {
  const drawn: number[] = [];
  for (const [index, value] of values.entries()) {
    for (let time = counts[index] ?? 0; time > 0; time -= 1) {
      drawn.push(value);
    }
  }
  const random = seededRandom(startMs / 1000);
  for (let left = drawn.length; left > 0; left -= 1) {
    const at = Math.floor(random() * left);
    const score = drawn[at] ?? 0;
    drawn[at] = drawn[left - 1] ?? 0;
    yield score;
  }
}
