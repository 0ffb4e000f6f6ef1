/** Measures of the scorer `behaviour`, in the order of their rows. */
export const MEASURES = [
  'tokens',
  'cost',
  'duration',
  'steps',
  'tool-calls',
  'tool-errors',
  'repeats',
  'answer-length',
  'answered',
  'path',
] as const;
export type Measure = (typeof MEASURES)[number];

/** Name of the score row of a measure. */
export function nameMeasure(measure: Measure): string {
  return `behaviour-${measure}`;
}

/** Runs of an agent from which on its own past counts. */
export const LEAST_RUNS = 20;

/** One measure over the runs of an agent in the last week. */
export interface MeasurePast {
  readonly runs: number;
  /** Value that three of four runs do not exceed. */
  readonly upperQuartile: number;
  /** Greatest value of the range of the newest row. */
  readonly scoreMax: number;
}

/** Counts of each step of an agent after another in the last week. '' is the begin and the end of a run. */
export interface Transitions {
  readonly runs: number;
  /** Numbers of next steps, by the step before. */
  readonly next: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Number of different steps, with the end. */
  readonly steps: number;
}

/** Measures of the runs of an agent in the last week. */
export interface AgentPast {
  readonly measures: ReadonlyMap<Measure, MeasurePast>;
  readonly transitions: Transitions;
}

/** Range before the runs of the agent are known, and the least range after. In the unit of the measure. */
const LIMITS: Readonly<Record<Measure, { readonly first: number; readonly least: number }>> = {
  tokens: { first: 20_000, least: 100 },
  cost: { first: 0.1, least: 0.000_01 },
  duration: { first: 60, least: 0.1 },
  steps: { first: 10, least: 3 },
  'tool-calls': { first: 10, least: 3 },
  'tool-errors': { first: 2, least: 2 },
  repeats: { first: 2, least: 2 },
  'answer-length': { first: 4_000, least: 100 },
  answered: { first: 1, least: 1 },
  path: { first: 3, least: 1 },
};

/** Ratio of the range to the upper quartile: three times the usual value is still within the range. */
const HEADROOM = 3;

/** Limits of the wanted range over the range in force between which the latter stays: a range that moves with each row would hide a drift. */
const STAYS = { from: 0.5, to: 1.5 };

/** Returns the greatest value of the range of a measure. */
export function chooseRange(measure: Measure, past: MeasurePast | undefined): number {
  const { first, least } = LIMITS[measure];
  if (past === undefined || measure === 'answered') {
    return first;
  }
  const inForce = past.scoreMax > 0 ? past.scoreMax : first;
  const wanted = Math.max(least, HEADROOM * past.upperQuartile);
  const ratio = wanted / inForce;
  return past.runs < LEAST_RUNS || (ratio >= STAYS.from && ratio <= STAYS.to)
    ? inForce
    : Number(wanted.toPrecision(2));
}
