import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { colourChanges, readColour } from '../theme.ts';
import { FEW_SCORES, formatTicks, type SeriesChart } from '../view-models/charts/series-chart.ts';
import { visibleText } from '../view-models/visible-text.ts';

const HEIGHT = 280;

/** Line styles: lines differ in their dashes, not only in their colours. */
const DASHES = [[], [8, 4], [2, 4], [10, 4, 2, 4], [14, 6], [4, 2]] as const;

/** A chart of scores over time. Its numbers are also in a table, so a screen reader skips the drawing. */
export function Chart({ chart }: { readonly chart: SeriesChart }) {
  const box = useRef<HTMLDivElement>(null);
  const colours = colourChanges.value;
  useEffect(() => {
    const element = box.current;
    if (element === null) {
      return undefined;
    }
    const plot = new uPlot(describePlot(chart, element.clientWidth), buildData(chart), element);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [chart, colours]);
  return (
    <>
      <div ref={box} class="chart" aria-hidden="true" />
      <ul class="legend">
        {chart.lines.map(({ name }, index) => (
          <li key={name}>
            <svg width="28" height="8" aria-hidden="true">
              <path d="M0 4H28" class={`line-${index}`} stroke-dasharray={DASHES[index]?.join(' ')} />
            </svg>{' '}
            <bdi>{visibleText(name)}</bdi>
          </li>
        ))}
        <li>○ fewer than {FEW_SCORES} scores in the bucket</li>
        {chart.band !== null && <li>▒ baseline, p10 to p90</li>}
        {chart.markers.length > 0 && <li>┆ new version</li>}
        {chart.incidents.length > 0 && <li>▓ incident</li>}
      </ul>
    </>
  );
}

/** Each line is three series: the line, its full points, and its hollow ones. */
function buildData({ times, lines }: SeriesChart): uPlot.AlignedData {
  const values = lines.flatMap(({ means, counts }) => {
    const isFew = (index: number) => (counts[index] ?? 0) < FEW_SCORES;
    return [
      [...means],
      means.map((mean, index) => (isFew(index) ? null : mean)),
      means.map((mean, index) => (isFew(index) ? mean : null)),
    ];
  });
  return [[...times], ...values];
}

function describePlot(chart: SeriesChart, width: number): uPlot.Options {
  const text = readColour('text');
  const axis = {
    stroke: text,
    grid: { stroke: readColour('line'), width: 1 },
    ticks: { stroke: readColour('line') },
  };
  const background = readColour('background');
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: true, y: false } },
    tzDate: (timestamp) => uPlot.tzDate(new Date(timestamp * 1_000), 'Etc/UTC'),
    scales: {
      x: { time: true },
      y: chart.range === null ? {} : { range: [chart.range.low, chart.range.high] },
    },
    axes: [{ ...axis, values: (_, splits) => formatTicks(splits) }, axis],
    series: [
      {},
      ...chart.lines.flatMap((_, index) => {
        const stroke = readColour(`line-${index}`);
        const points = { show: true, size: 8, stroke };
        return [
          { stroke, width: 2, dash: [...(DASHES[index] ?? [])], points: { show: false } },
          { stroke: 'transparent', points: { ...points, fill: stroke } },
          { stroke: 'transparent', points: { ...points, fill: background } },
        ];
      }),
    ],
    hooks: { drawClear: [(plot) => drawBehind(plot, chart)], draw: [(plot) => drawMarkers(plot, chart)] },
  };
}

/** Draws the baseline and the incidents behind the lines. */
function drawBehind(plot: uPlot, { band, incidents }: SeriesChart): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = readColour('incident');
  for (const { from, to } of incidents) {
    const left = plot.valToPos(from, 'x', true);
    const right = to === null ? bbox.left + bbox.width : plot.valToPos(to, 'x', true);
    ctx.fillRect(left, bbox.top, Math.max(right - left, 2), bbox.height);
  }
  if (band !== null) {
    const [high, mean, low] = [band.high, band.mean, band.low].map((value) =>
      plot.valToPos(value, 'y', true),
    );
    ctx.fillStyle = readColour('band');
    ctx.fillRect(bbox.left, high ?? 0, bbox.width, Math.max((low ?? 0) - (high ?? 0), 1));
    ctx.strokeStyle = readColour('quiet');
    ctx.setLineDash([6, 6]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, mean ?? 0);
    ctx.lineTo(bbox.left + bbox.width, mean ?? 0);
    ctx.stroke();
  }
  ctx.restore();
}

/** Draws the versions over the lines. */
function drawMarkers(plot: uPlot, { markers }: SeriesChart): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = readColour('quiet');
  ctx.fillStyle = readColour('text');
  ctx.textAlign = 'left';
  ctx.setLineDash([3, 5]);
  for (const { at, text } of markers) {
    const x = plot.valToPos(at, 'x', true);
    if (x >= bbox.left && x <= bbox.left + bbox.width) {
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.fillText(visibleText(text), x + 4, bbox.top + 12);
    }
  }
  ctx.restore();
}
