import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../domain/durations.ts';
import type { Costs, Replies } from '../api-types.ts';
import { listStarts } from './charts/time-axis.ts';
import { formatUsd } from './format.ts';

type Line = Costs['items'][number];

/** Facets by which costs are stacked. */
export const COST_FACETS = ['rule', 'scorer', 'agent', 'model'] as const;
export type CostFacet = (typeof COST_FACETS)[number];

/** Parts of one day. */
export interface CostDay {
  readonly bucket: string;
  readonly total: number;
  readonly parts: readonly { readonly key: string; readonly usd: number; readonly from: number }[];
}

/** Costs by day, stacked by key. */
export interface CostChart {
  /** Keys by their whole cost, the largest first; the rest is `others`. */
  readonly keys: readonly string[];
  readonly days: readonly CostDay[];
  readonly top: number;
  readonly total: number;
}

/** Keys of one chart. */
const MOST_KEYS = 5;

const OTHERS = 'others';

/** Range of a chart of costs, Unix milliseconds. */
interface CostRange {
  readonly fromMs: number;
  readonly toMs: number;
}

const UNITS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

/** Reads the range of the bar: `7d` before now, or times. */
export function readCostRange(
  { since, until }: Readonly<Record<string, readonly string[]>>,
  nowMs: number,
): CostRange {
  const toMs = until?.[0] === undefined ? nowMs : Date.parse(until[0]);
  const from = since?.[0] ?? '';
  const [, count, unit = ''] = /^(\d+)([mhd])$/u.exec(from) ?? [];
  return { fromMs: count === undefined ? Date.parse(from) : toMs - Number(count) * (UNITS[unit] ?? 0), toMs };
}

/** Builds the stacked costs of every day of the range: of agents' models for agents, of judges for rules and scorers, of both by model. */
export function buildCostChart(
  items: readonly Line[],
  by: CostFacet,
  { fromMs, toMs }: CostRange,
): CostChart {
  const usdOf = ({ agentUsd, judgeUsd }: Line): number =>
    (by === 'agent' || by === 'model' ? (agentUsd ?? 0) : 0) + (by === 'agent' ? 0 : (judgeUsd ?? 0));
  const sums = new Map<string, number>();
  for (const line of items) {
    sums.set(line.key, (sums.get(line.key) ?? 0) + usdOf(line));
  }
  const ordered = [...sums].toSorted(([, a], [, b]) => b - a).map(([key]) => key);
  const keys = ordered.length > MOST_KEYS + 1 ? [...ordered.slice(0, MOST_KEYS), OTHERS] : ordered;
  const lines = Map.groupBy(items, ({ bucket }) => bucket);
  const starts = listStarts(Math.floor(fromMs / DAY_MS) * DAY_MS, toMs, DAY_MS);
  const whole = starts.map((start) => new Date(start).toISOString());
  const days = [...new Set([...whole, ...lines.keys()])]
    .toSorted()
    .map((bucket) => buildDay(bucket, lines.get(bucket) ?? [], keys, usdOf));
  return {
    keys,
    days,
    top: Math.max(...days.map(({ total }) => total), 0),
    total: days.reduce((sum, { total }) => sum + total, 0),
  };
}

function buildDay(
  bucket: string,
  lines: readonly Line[],
  keys: readonly string[],
  usdOf: (line: Line) => number,
): CostDay {
  let from = 0;
  const parts = keys.map((key) => {
    const usd = lines
      .filter((line) =>
        key === OTHERS && keys.includes(OTHERS) ? !keys.includes(line.key) : line.key === key,
      )
      .reduce((sum, line) => sum + usdOf(line), 0);
    const part = { key, usd, from };
    from += usd;
    return part;
  });
  return { bucket, total: from, parts };
}

type Budget = Replies['/judges']['budgets'][number];

const PERIODS: Readonly<Record<string, number>> = {
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 30 * DAY_MS,
};

/** Part of a period that has to be over before its cost says what the whole will cost. */
const LEAST_PART = 0.05;

/** Forecast in words, with the time that they end with. */
export interface Forecast {
  readonly words: string;
  readonly at?: string;
}

/** Says what a limit will have spent at its end, at the pace until now. */
export function forecastBudget({ spentUsd, capUsd, period, renewsAt }: Budget, nowMs: number): Forecast {
  const lengthMs = PERIODS[period];
  if (lengthMs === undefined || renewsAt === null) {
    return { words: '–' };
  }
  const part = 1 - Math.max(Date.parse(renewsAt) - nowMs, 0) / lengthMs;
  if (part < LEAST_PART) {
    return { words: 'too early to say' };
  }
  const expected = spentUsd / part;
  if (expected <= capUsd) {
    return { words: `${formatUsd(expected)} at its end` };
  }
  const at = new Date(nowMs + ((capUsd - spentUsd) / spentUsd) * part * lengthMs);
  return spentUsd >= capUsd ? { words: 'spent' } : { words: 'cap reached about', at: at.toISOString() };
}

/** Cost of a model in the range; null where none of it is known. */
export interface ModelCost extends Pick<Line, 'agentUsd' | 'judgeUsd' | 'runs' | 'unpriced'> {
  readonly model: string;
}

/** Sums costs by model, the dearest first. */
export function sumModels(items: readonly Line[]): ModelCost[] {
  const add = (a: number | null, b: number | null) => (a === null ? b : a + (b ?? 0));
  const sums = new Map<string, ModelCost>();
  for (const { key: model, agentUsd, judgeUsd, runs, unpriced } of items) {
    const sum = sums.get(model) ?? { model, agentUsd: null, judgeUsd: null, runs: 0, unpriced: 0 };
    sums.set(model, {
      model,
      agentUsd: add(sum.agentUsd, agentUsd),
      judgeUsd: add(sum.judgeUsd, judgeUsd),
      runs: sum.runs + runs,
      unpriced: sum.unpriced + unpriced,
    });
  }
  const cost = ({ agentUsd, judgeUsd }: ModelCost) => (agentUsd ?? 0) + (judgeUsd ?? 0);
  return [...sums.values()].toSorted((a, b) => cost(b) - cost(a) || b.runs - a.runs);
}

/** Lines of the configuration that give a model a price, in US dollars per million tokens. */
export function priceLines(model: string): string {
  return `judges:\n  prices:\n    ${JSON.stringify(model)}: { input: 0.25, output: 2 }`;
}
