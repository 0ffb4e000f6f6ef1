import { useEffect, useRef, useState } from 'preact/hooks';
import {
  listTimeTicks,
  listValueTicks,
  placeMarks,
  spreadTexts,
  type TimeLine,
  type TimePoint,
} from '../view-models/charts/time-axis.ts';
import { formatLocalTime } from '../view-models/format.ts';
import { visibleText } from '../view-models/visible-text.ts';

interface TimeChartProps {
  /** Conclusion in words, for readers who hear it. */
  readonly label: string;
  readonly lines: readonly TimeLine[];
  /** Range of the page, Unix milliseconds: the axis is its, not that of the data. */
  readonly from: number;
  readonly to: number;
  readonly height: number;
  readonly format: (value: number) => string;
  /** Greatest value of the axis, and the least one that it always shows. */
  readonly top?: number;
  readonly bottom?: number;
  readonly marks?: readonly { readonly at: number; readonly text: string }[];
  readonly spans?: readonly { readonly from: number; readonly to: number | null }[];
  /** Value that was usual before. */
  readonly baseline?: number;
  /** Takes a range that the reader has dragged. */
  readonly onRange?: (from: number, to: number) => void;
  /** Takes a time that the reader has clicked. */
  readonly onPick?: (at: number) => void;
}

const LEFT = 42;
const BOTTOM = 20;
const TOP = 8;
/** Room for the names at the ends of lines. */
const NAMES = 120;
const LINE_HEIGHT = 14;
/** Least distance of a drag, pixels: a shorter one is a click. */
const LEAST_DRAG = 6;

/** Places of a drawing, pixels. */
interface Plane {
  readonly width: number;
  readonly height: number;
  /** Right end of the lines. */
  readonly right: number;
  readonly x: (at: number) => number;
  readonly y: (value: number) => number;
  readonly ticks: readonly number[];
}

function buildPlane(props: TimeChartProps, width: number): Plane {
  const { lines, from, to, height } = props;
  const right = width - (lines.length > 1 && width > 420 ? NAMES : 8);
  const ticks = listTicks(props);
  const [least = 0, greatest = 1] = [ticks[0], ticks.at(-1)];
  return {
    width,
    height,
    right,
    ticks,
    // The first bucket of a range may begin before it.
    x: (at) => LEFT + ((Math.max(at, from) - from) / Math.max(to - from, 1)) * (right - LEFT),
    y: (value) => TOP + (1 - (value - least) / (greatest - least || 1)) * (height - TOP - BOTTOM),
  };
}

/** Lines over time with the interval of their subject, versions and incidents. A drag chooses a range. */
export function TimeChart(props: TimeChartProps) {
  const { lines, from, to, height, format, label, onRange, onPick } = props;
  const { box, width } = useWidth();
  const [pointer, setPointer] = useState<number | undefined>();
  const [dragFrom, setDragFrom] = useState<number | undefined>();
  const plane = buildPlane(props, width);
  const { x, right } = plane;
  const timeOf = (event: PointerEvent & { readonly currentTarget: SVGSVGElement }) => {
    const at = event.clientX - event.currentTarget.getBoundingClientRect().left;
    return Math.min(Math.max(from + ((at - LEFT) / (right - LEFT)) * (to - from), from), to);
  };
  const drop = (at: number): void => {
    if (dragFrom !== undefined && Math.abs(x(at) - x(dragFrom)) >= LEAST_DRAG) {
      onRange?.(Math.min(at, dragFrom), Math.max(at, dragFrom));
    } else if (dragFrom !== undefined) {
      onPick?.(at);
    }
    setDragFrom(undefined);
  };
  return (
    <div ref={box} class="time-chart">
      <svg
        role="img"
        aria-label={visibleText(label)}
        width={width}
        height={height}
        class={onRange === undefined ? undefined : 'ranged'}
        onPointerMove={(event) => setPointer(timeOf(event))}
        onPointerLeave={() => {
          setPointer(undefined);
          setDragFrom(undefined);
        }}
        onPointerDown={(event) => setDragFrom(timeOf(event))}
        onPointerUp={(event) => drop(timeOf(event))}
      >
        <Ground chart={props} plane={plane} />
        {lines.map((line, index) => (
          <Line key={line.name} line={line} index={index} x={x} y={plane.y} />
        ))}
        <Marks chart={props} plane={plane} />
        {right < width - 8 && <Names lines={lines} x={right + 8} y={plane.y} />}
        {pointer !== undefined && <path class="crosshair" d={`M${x(pointer)} ${TOP}V${height - BOTTOM}`} />}
        {pointer !== undefined && dragFrom !== undefined && (
          <rect
            class="drag"
            x={Math.min(x(pointer), x(dragFrom))}
            y={TOP}
            width={Math.abs(x(pointer) - x(dragFrom))}
            height={height - TOP - BOTTOM}
          />
        )}
      </svg>
      {pointer !== undefined && (
        <Tip lines={lines} at={pointer} format={format} isLeft={x(pointer) > width / 2} />
      )}
    </div>
  );
}

interface LayerProps {
  readonly chart: TimeChartProps;
  readonly plane: Plane;
}

/** Incidents, axes and the usual value, behind the lines. */
function Ground({ chart, plane: { x, y, ticks, width, height, right } }: LayerProps) {
  const { spans = [], from, to, format, baseline } = chart;
  const isShown = baseline !== undefined && baseline >= (ticks[0] ?? 0) && baseline <= (ticks.at(-1) ?? 1);
  return (
    <>
      {spans.map((span) => (
        <rect
          key={span.from}
          class="incident-area"
          x={x(Math.max(span.from, from))}
          y={TOP}
          width={Math.max(x(span.to ?? to) - x(Math.max(span.from, from)), 1)}
          height={height - TOP - BOTTOM}
        />
      ))}
      {ticks.map((value) => (
        <g key={value}>
          <path class="grid" d={`M${LEFT} ${y(value)}H${right}`} />
          <text x={LEFT - 6} y={y(value) + 4} text-anchor="end">
            {format(value)}
          </text>
        </g>
      ))}
      {isShown && <path class="version" d={`M${LEFT} ${y(baseline)}H${right}`} />}
      {listTimeTicks(from, to, right - LEFT).map(({ at, text }) => (
        <text
          key={at}
          x={Math.min(x(at), width)}
          y={height - 4}
          text-anchor={x(at) > width - 24 ? 'end' : 'middle'}
        >
          {text}
        </text>
      ))}
    </>
  );
}

/** Versions over the lines, each by its name. */
function Marks({ chart: { marks = [], from, to }, plane: { x, height, width } }: LayerProps) {
  return (
    <>
      {placeMarks(chooseMarks(marks, from, to), { x, width }).map(({ text, x: at, isLate, row }) => (
        <g key={`${at} ${text}`}>
          <path class="version" d={`M${at} ${TOP}V${height - BOTTOM}`}>
            <title>{visibleText(text)}</title>
          </path>
          {row !== undefined && (
            <text
              x={at + (isLate ? -4 : 4)}
              y={TOP + 10 + row * LINE_HEIGHT}
              text-anchor={isLate ? 'end' : 'start'}
            >
              {visibleText(text)}
            </text>
          )}
        </g>
      ))}
    </>
  );
}

/** Chooses the marks of a range: the first one of each text. */
function chooseMarks(marks: NonNullable<TimeChartProps['marks']>, from: number, to: number) {
  const inOrder = marks.filter(({ at }) => at >= from && at <= to).toSorted((a, b) => a.at - b.at);
  return inOrder.filter(({ text }, index) => inOrder.findIndex((each) => each.text === text) === index);
}

function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(320);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 320)));
    if (box.current !== null) {
      observer.observe(box.current);
    }
    return () => observer.disconnect();
  }, []);
  return { box, width };
}

function listTicks({ lines, top, bottom, height }: TimeChartProps): number[] {
  const values = lines.flatMap(({ points, isSubject }) =>
    points.flatMap(({ value, low, high }) =>
      value === null ? [] : isSubject === true ? [value, low ?? value, high ?? value] : [value],
    ),
  );
  const least = Math.min(...values, bottom ?? Number.POSITIVE_INFINITY);
  const greatest = Math.max(...values, bottom ?? 0);
  return values.length === 0
    ? [0, top ?? 1]
    : listValueTicks(least, top ?? greatest, Math.max(Math.floor(height / 45), 1));
}

interface LineProps {
  readonly line: TimeLine;
  readonly index: number;
  readonly x: (at: number) => number;
  readonly y: (value: number) => number;
}

function Line({ line: { points, isSubject }, index, x, y }: LineProps) {
  return (
    <g class={isSubject === true ? 'line subject' : `line line-${index % 6}`}>
      {isSubject === true &&
        listRuns(points).map((run) => (
          <path
            key={run[0]?.at}
            class="interval"
            d={`M${run.map(({ at, high, value }) => `${x(at)} ${y(high ?? value)}`).join('L')}L${run
              .toReversed()
              .map(({ at, low, value }) => `${x(at)} ${y(low ?? value)}`)
              .join('L')}Z`}
          />
        ))}
      {listRuns(points).map((run) => (
        <path
          key={run[0]?.at}
          class="stroke"
          d={`M${run.map(({ at, value }) => `${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join('L')}${run.length === 1 ? 'h0.1' : ''}`}
        />
      ))}
    </g>
  );
}

/** Splits points at their gaps: a gap is not bridged. */
function listRuns(points: readonly TimePoint[]): (TimePoint & { readonly value: number })[][] {
  const runs: (TimePoint & { readonly value: number })[][] = [[]];
  for (const point of points) {
    const { value } = point;
    if (value === null) {
      runs.push([]);
    } else {
      runs.at(-1)?.push({ ...point, value });
    }
  }
  return runs.filter(({ length }) => length > 0);
}

function Names({
  lines,
  x,
  y,
}: Pick<TimeChartProps, 'lines'> & { readonly x: number; readonly y: (value: number) => number }) {
  const ends = lines.map(({ points }) => points.findLast(({ value }) => value !== null)?.value ?? 0);
  const places = spreadTexts(ends.map(y), LINE_HEIGHT);
  return (
    <>
      {lines.map(({ name, isSubject }, index) => (
        <text
          key={name}
          class={isSubject === true ? 'name subject' : `name line-${index % 6}`}
          x={x}
          y={(places[index] ?? 0) + 4}
        >
          {visibleText(name)}
        </text>
      ))}
    </>
  );
}

interface TipProps extends Pick<TimeChartProps, 'lines' | 'format'> {
  readonly at: number;
  readonly isLeft: boolean;
}

/** Values of all lines at the pointer. */
function Tip({ lines, at, format, isLeft }: TipProps) {
  const found = lines.flatMap(({ name, points }) => {
    const point = points.findLast((each) => each.at <= at) ?? points[0];
    return point === undefined ? [] : [{ name, point }];
  });
  const first = found[0];
  return first === undefined ? null : (
    <div class={isLeft ? 'tip left' : 'tip'} aria-hidden="true">
      <b>{formatLocalTime(new Date(first.point.at).toISOString())}</b>
      {found.map(({ name, point: { value, low, high, n } }) => (
        <div key={name}>
          {visibleText(name)} {value === null ? '–' : format(value)}
          {low !== undefined && high !== undefined && ` [${format(low)}, ${format(high)}]`}
          {n !== undefined && ` (n ${n})`}
        </div>
      ))}
    </div>
  );
}
