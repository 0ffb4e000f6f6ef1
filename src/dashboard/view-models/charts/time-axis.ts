import { DAY_MS, HOUR_MS } from '../../../domain/durations.ts';

/** Distances of ticks, milliseconds. */
const STEPS = [0.25, 0.5, 1, 2, 3, 6, 12, 24, 48, 168, 336].map((hours) => hours * HOUR_MS);

/** Width that a tick with its text needs, pixels. */
const TICK_WIDTH = 64;

/** Point of a line; without a value, the line has a gap. */
export interface TimePoint {
  /** Begin of the bucket, Unix milliseconds. */
  readonly at: number;
  readonly value: number | null;
  readonly low?: number;
  readonly high?: number;
  readonly n?: number;
}

export interface TimeLine {
  readonly name: string;
  readonly points: readonly TimePoint[];
  /** True for the line that the page is about: it has its interval. */
  readonly isSubject?: boolean;
}

/** Lists the starts of the buckets of a range. */
export function listStarts(fromMs: number, toMs: number, stepMs: number): number[] {
  const length = Math.max(Math.ceil((toMs - fromMs) / stepMs), 0);
  return Array.from({ length }, (_, index) => fromMs + index * stepMs);
}

/** Tick of an axis of time. */
export interface TimeTick {
  readonly at: number;
  readonly text: string;
}

/** Lists the ticks of an axis of time where the reader is: the day where it changes, else the hour. */
export function listTimeTicks(fromMs: number, toMs: number, width: number, timeZone?: string): TimeTick[] {
  const most = Math.max(Math.floor(width / TICK_WIDTH), 2);
  const step =
    STEPS.find((each) => (toMs - fromMs) / each <= most) ??
    DAY_MS * Math.ceil((toMs - fromMs) / DAY_MS / most);
  const zone = timeZone === undefined ? {} : { timeZone };
  const write = (at: number, options: Intl.DateTimeFormatOptions) =>
    new Date(at).toLocaleString('en-GB', { ...options, ...zone });
  // The distance of the clock of the reader to UTC, so that ticks stand at whole hours and days of this clock.
  const wall = Date.parse(`${new Date(fromMs).toLocaleString('sv', zone).replace(' ', 'T')}Z`);
  const offset = wall - Math.floor(fromMs / 1_000) * 1_000;
  const ticks: TimeTick[] = [];
  let month = '';
  for (let at = Math.ceil((fromMs + offset) / step) * step - offset; at <= toMs; at += step) {
    const clock = write(at, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
    const name = write(at, { month: 'short' });
    const isDay = step >= DAY_MS || clock === '00:00';
    const day = write(at, name === month ? { day: 'numeric' } : { day: 'numeric', month: 'short' });
    ticks.push({ at, text: isDay ? day : clock });
    month = isDay ? name : month;
  }
  return ticks;
}

/** Lists round values of an axis of numbers, from below the least to above the greatest. */
export function listValueTicks(low: number, high: number, count = 4): number[] {
  const span = high > low ? high - low : Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(span / count));
  const step =
    [1, 2, 5, 10].map((factor) => factor * power).find((each) => span / each <= count) ?? 10 * power;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(Math.ceil(high / step - 1e-9), first + 1);
  return Array.from({ length: last - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
}

/** Mark of a chart, with the place of its name. */
export interface PlacedMark {
  readonly text: string;
  /** Place of its line, pixels. */
  readonly x: number;
  /** True where the name ends at the line, not begins. */
  readonly isLate: boolean;
  /** Row of the name, from the top; undefined without room. */
  readonly row: number | undefined;
}

/** Width of a character of a name, and least distance of two names, pixels. */
const NAME = { character: 6.2, gap: 8 } as const;

/** Rows for the names of marks. */
const NAME_ROWS = [0, 1, 2, 3] as const;

/** Places the names of marks so that none covers another; the later one without room is left out, and its line stays. */
export function placeMarks(
  marks: readonly { readonly at: number; readonly text: string }[],
  { x, width }: { readonly x: (at: number) => number; readonly width: number },
): PlacedMark[] {
  const ends = new Map<number, readonly (readonly [from: number, to: number])[]>();
  return marks.map(({ at, text }) => {
    const place = x(at);
    const isLate = place > width / 2;
    const length = text.length * NAME.character + NAME.gap;
    const [from, to] = isLate ? [place - length, place] : [place, place + length];
    const row = NAME_ROWS.find((each) =>
      (ends.get(each) ?? []).every(([begin, end]) => to <= begin || end <= from),
    );
    if (row !== undefined) {
      ends.set(row, [...(ends.get(row) ?? []), [from, to]]);
    }
    return { text, x: place, isLate, row };
  });
}

/** Moves texts apart that would cover each other; their order stays. */
export function spreadTexts(wanted: readonly number[], distance: number): number[] {
  const order = wanted.map((y, index) => ({ y, index })).toSorted((a, b) => a.y - b.y);
  let least = Number.NEGATIVE_INFINITY;
  const placed = [...wanted];
  for (const { y, index } of order) {
    least = Math.max(y, least + distance);
    placed[index] = least;
  }
  return placed;
}
