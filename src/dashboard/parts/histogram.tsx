import type { Bin } from '../view-models/charts/histogram.ts';

const WIDTH = 400;

const HEIGHT = 140;

/** Two histograms in one drawing: bars for now, a line for before. Its numbers are also in a table. */
export function Histogram({ bins }: { readonly bins: readonly Bin[] }) {
  const top = Math.max(...bins.flatMap(({ share, before }) => [share, before ?? 0]), Number.MIN_VALUE);
  const width = WIDTH / Math.max(bins.length, 1);
  const y = (share: number) => HEIGHT - (share / top) * HEIGHT;
  const hasBefore = bins.some(({ before }) => before !== null);
  const steps = bins.map(
    ({ before }, index) => `${index === 0 ? 'M' : 'L'}${index * width} ${y(before ?? 0)}h${width}`,
  );
  const [first, last] = [bins[0], bins.at(-1)];
  return (
    <>
      <svg class="histogram" aria-hidden="true" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
        {bins.map(({ from, share }, index) => (
          <rect
            key={from}
            x={index * width + 1}
            y={y(share)}
            width={Math.max(width - 2, 1)}
            height={HEIGHT - y(share)}
          />
        ))}
        {hasBefore && <path d={steps.join('')} />}
      </svg>
      <p class="histogram-axis" aria-hidden="true">
        <span>{first?.from}</span>
        <span>{last?.to}</span>
      </p>
      <p class="legend" aria-hidden="true">
        █ now{hasBefore && ' · ┅ before'}
      </p>
    </>
  );
}
