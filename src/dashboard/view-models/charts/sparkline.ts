/** Bucket of a small line. */
interface Bucket {
  readonly n: number;
  readonly mean: number | null;
}

interface Scale {
  readonly scoreMin: number | null;
  readonly scoreMax: number | null;
}

/** Size of the drawing, in its own units. */
export const SPARK_WIDTH = 96;
export const SPARK_HEIGHT = 24;

/** Room for the width of the line. */
const MARGIN = 2;

/** A lone bucket: a line without length would hardly be seen. */
const DOT = 'm-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0';

/** Builds the path of a small line; a bucket without scores interrupts it. The range of the scorer is the height. */
export function buildSparkline(buckets: readonly Bucket[], scale: Scale): string {
  const { low, high } = readRange(buckets, scale);
  const x = (index: number) =>
    MARGIN + (index * (SPARK_WIDTH - 2 * MARGIN)) / Math.max(buckets.length - 1, 1);
  const y = (mean: number) =>
    SPARK_HEIGHT - MARGIN - ((mean - low) * (SPARK_HEIGHT - 2 * MARGIN)) / (high - low);
  let path = '';
  let isOpen = false;
  for (const [index, { mean }] of buckets.entries()) {
    if (mean !== null) {
      path += `${isOpen ? 'L' : 'M'}${x(index).toFixed(1)} ${y(mean).toFixed(1)}`;
      path += isOpen || typeof buckets[index + 1]?.mean === 'number' ? '' : DOT;
    }
    isOpen = mean !== null;
  }
  return path;
}

function readRange(buckets: readonly Bucket[], { scoreMin, scoreMax }: Scale): { low: number; high: number } {
  const means = buckets.flatMap(({ mean }) => (mean === null ? [] : [mean]));
  const low = scoreMin ?? Math.min(...means);
  const high = scoreMax ?? Math.max(...means);
  return high > low ? { low, high } : { low: low - 1, high: low + 1 };
}
