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

/**
 * Returns the greatest value of the range of a measure. The first range of `FIRST_RANGES` is never one that was chosen from the past, so
 * that it tells the runs of a new agent.
 */
export function chooseRange(measure: Measure, past: MeasurePast | undefined): number {
  const { first, least } = LIMITS[measure];
  if (past === undefined || measure === 'answered') {
    return first;
  }
  const inForce = past.scoreMax > 0 ? past.scoreMax : first;
  const wanted = Math.max(least, HEADROOM * past.upperQuartile);
  const ratio = wanted / inForce;
  const isFirst = inForce === FIRST_RANGES[measure];
  if (past.runs < LEAST_RUNS || (!isFirst && ratio >= STAYS.from && ratio <= STAYS.to)) {
    return inForce;
  }
  const chosen = Number(wanted.toPrecision(2));
  return chosen === FIRST_RANGES[measure] ? Number((chosen * BESIDE_FIRST).toPrecision(3)) : chosen;
}

/** Factor from the first range to a chosen one that would be equal. */
const BESIDE_FIRST = 1.01;

/**
 * Ranges of a new agent that say nothing about its runs: monitors leave these rows out, as the range of the later rows would look like a
 * fall of the scores. Absent: the first range is also the range of most agents.
 */
export const FIRST_RANGES: Readonly<Partial<Record<Measure, number>>> = Object.fromEntries(
  MEASURES.filter((measure) => LIMITS[measure].first > LIMITS[measure].least).map((measure) => [
    measure,
    LIMITS[measure].first,
  ]),
);

/** Most different steps in a row that a path names, and the length of a name. */
const MOST_GROUPS = 40;
const MOST_CHARS = 60;

const ARROW = ' → ';

/** Writes steps as text: `search ×5 → answer`. What is beyond 40 groups is left out. */
export function writePath(steps: readonly string[]): string {
  const groups: { name: string; times: number }[] = [];
  for (const step of steps) {
    const name = nameStep(step);
    const last = groups.at(-1);
    if (last?.name === name) {
      last.times += 1;
    } else if (groups.length === MOST_GROUPS) {
      break;
    } else {
      groups.push({ name, times: 1 });
    }
  }
  return groups.map(({ name, times }) => writeTimes(name, times)).join(ARROW);
}

/** Writes a name with a number of times, if there are several: `search ×5`. */
export function writeTimes(name: string, times: number): string {
  return times === 1 ? name : `${name} ×${times}`;
}

/** Returns a step's name as a path has it. */
function nameStep(step: string): string {
  const name = step.replace(/[\s→×]+/g, ' ').trim();
  return name.length > MOST_CHARS ? `${name.slice(0, MOST_CHARS)}…` : name || '?';
}

/** Reads the groups of a path that `writePath` has written. */
function readPath(path: string): { name: string; times: number }[] {
  return path.split(ARROW).map((group) => {
    const [, name = group, times = '1'] = /^(.*) ×(\d+)$/.exec(group) ?? [];
    return { name, times: Number(times) };
  });
}

/** Counts the transitions in the paths of an agent's runs. */
export function countTransitions(
  paths: Iterable<{ readonly path: string; readonly runs: number }>,
): Transitions {
  const next = new Map<string, Map<string, number>>();
  const steps = new Set<string>(['']);
  let total = 0;
  const add = (from: string, to: string, times: number) => {
    const counts = next.get(from) ?? new Map<string, number>();
    next.set(from, counts.set(to, (counts.get(to) ?? 0) + times));
    steps.add(to);
  };
  for (const { path, runs } of paths) {
    total += runs;
    let before = '';
    for (const { name, times } of path === '' ? [] : readPath(path)) {
      add(before, name, runs);
      if (times > 1) {
        add(name, name, runs * (times - 1));
      }
      before = name;
    }
    add(before, '', runs);
  }
  return { runs: total, next, steps: steps.size };
}

/** Number added to each count of a transition, so that one which never occurred has a probability. */
const SMOOTHING = 0.5;

/** Computes the surprise of steps under transitions, in nats a step: the mean of −ln of the probability of each next step. */
export function computeSurprise(steps: readonly string[], { next, steps: known }: Transitions): number {
  let before = '';
  let sum = 0;
  for (const step of [...steps.map(nameStep), '']) {
    const counts = next.get(before);
    const all = [...(counts?.values() ?? [])].reduce((total, count) => total + count, 0);
    // One further step stands for all that were never seen.
    const probability = ((counts?.get(step) ?? 0) + SMOOTHING) / (all + SMOOTHING * (known + 1));
    sum -= Math.log(probability);
    before = step;
  }
  return sum / (steps.length + 1);
}
