import { type Bucket, histogramOfSteps, NO_OUTCOMES, SCORE_STEPS } from '../../../src/monitors/bucket.ts';

/** Families of streams in simulations of score drift. They have the shapes of real scorers' scores. */
export const FAMILIES = ['beta', 'infl', 'disc', 'bin97', 'diurnal', 'wobble'] as const;
export type Family = (typeof FAMILIES)[number] | 'clumps';

export const BUCKET_MS = 300_000;
const HOUR_MS = 3_600_000;

/** Returns uniform random numbers in [0, 1). */
type Random = () => number;

/** Creates a Mulberry32 generator. It is local code, so an update of a library cannot change the measured figures. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let scrambled = Math.imul(state ^ (state >>> 15), state | 1);
    scrambled ^= scrambled + Math.imul(scrambled ^ (scrambled >>> 7), scrambled | 61);
    return ((scrambled ^ (scrambled >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface Change {
  readonly atMs: number;
  readonly untilMs?: number;
  /** Decrease of the mean. */
  readonly drop: number;
}

export interface StreamOptions {
  readonly family: Family;
  readonly perHour: number;
  readonly days: number;
  readonly seed: number;
  readonly startMs?: number;
  readonly change?: Change;
}

/** Generates the closed five-minute buckets of one seeded stream, without empty buckets. */
export function* scoreBuckets(options: StreamOptions): Generator<Bucket> {
  const random = seededRandom(options.seed);
  const family = SOURCES[options.family](random);
  const startMs = options.startMs ?? Date.UTC(2026, 0, 1);
  const worse = options.change ? worsening(family, options.change.drop, random) : () => 0;
  const endMs = startMs + options.days * 24 * HOUR_MS;
  for (let bucketMs = startMs; bucketMs < endMs; bucketMs += BUCKET_MS) {
    const moment = family.at(bucketMs);
    const arrivals = poisson((options.perHour * moment.traffic * BUCKET_MS) / HOUR_MS, random);
    if (arrivals === 0) {
      continue;
    }
    const { change } = options;
    const changed =
      change !== undefined &&
      bucketMs >= change.atMs &&
      bucketMs < (change.untilMs ?? Number.POSITIVE_INFINITY);
    const counts = new Map<number, number>();
    for (let index = 0; index < arrivals; index += 1) {
      const score = changed ? worse(moment) : moment.draw();
      const step = Math.round(score * SCORE_STEPS);
      counts.set(step, (counts.get(step) ?? 0) + 1);
    }
    const scores = histogramOfSteps(counts);
    yield { startMs: bucketMs, scores, outcomes: { ...NO_OUTCOMES, scored: arrivals } };
  }
}

interface Moment {
  /** Traffic as a multiple of the mean traffic. */
  readonly traffic: number;
  draw(): number;
}

interface Source {
  /** True when scores are spread out: a decrease then shifts all scores. Otherwise rare values become more frequent. */
  readonly spread: boolean;
  at(timeMs: number): Moment;
}

const CALIBRATION_DRAWS = 20_000;

/** Draws scores with a mean that is lower by `drop`: shifted, or tilted by exp(-lean * score) towards the low values. */
function worsening(source: Source, drop: number, random: Random): (moment: Moment) => number {
  if (source.spread) {
    return (moment) => Math.max(0, moment.draw() - drop);
  }
  const moment = source.at(0);
  const drawn = Array.from({ length: CALIBRATION_DRAWS }, () => moment.draw());
  const sample = [...Map.groupBy(drawn, (score) => score)].map(
    ([score, times]) => [score, times.length] as const,
  );
  const tilted = (lean: number): number => {
    const weights = sample.map(([score, times]) => times * Math.exp(-lean * score));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return sample.reduce((sum, [score], index) => sum + (score * (weights[index] ?? 0)) / total, 0);
  };
  const target = tilted(0) - drop;
  let low = 0;
  let high = 20;
  for (let round = 0; round < 30; round += 1) {
    const middle = (low + high) / 2;
    [low, high] = tilted(middle) > target ? [middle, high] : [low, middle];
  }
  return (current) => {
    for (;;) {
      const score = current.draw();
      if (random() < Math.exp(-low * score)) {
        return score;
      }
    }
  };
}

/** Creates the source of each family. Each call starts a new random walk. */
const SOURCES: { readonly [Name in Family]: (random: Random) => Source } = {
  beta: (random) => ({ spread: true, at: () => ({ traffic: 1, draw: () => betaDraw(0.8, 0.12, random) }) }),
  infl: (random) => steady(() => inflated(random)),
  disc: (random) => steady(() => discrete(random)),
  bin97: (random) => steady(() => (random() < 0.97 ? 1 : 0)),
  diurnal: (random) => ({
    spread: true,
    at(timeMs) {
      const day = Math.sin(((timeMs % (24 * HOUR_MS)) / (24 * HOUR_MS)) * 2 * Math.PI);
      return { traffic: 1 + 0.7 * day, draw: () => mixed(0.5 + 0.35 * day, random) };
    },
  }),
  clumps(random) {
    // One to six scores in a row share a mean, as from one user or about one document.
    let [left, mean] = [0, 0];
    const draw = () => {
      [left, mean] = left > 0 ? [left - 1, mean] : [Math.floor(6 * random()), 0.75 + 0.1 * gauss(random)];
      return betaDraw(Math.min(0.95, Math.max(0.3, mean)), 0.1, random);
    };
    return { spread: true, at: () => ({ traffic: 1, draw }) };
  },
  wobble(random) {
    // An Ornstein-Uhlenbeck process moves the mix: the mean has a standard deviation of 0.015 and a memory of six hours.
    let walk = 0;
    const keep = Math.exp(-BUCKET_MS / (6 * HOUR_MS));
    return {
      spread: true,
      at() {
        walk = keep * walk + Math.sqrt(1 - keep * keep) * gauss(random);
        return { traffic: 1, draw: () => mixed(0.5 + (0.015 / 0.16) * walk, random) };
      },
    };
  },
};

function steady(draw: () => number): Source {
  return { spread: false, at: () => ({ traffic: 1, draw }) };
}

/** Draws from two populations with the means 0.88 and 0.72. `part` is the share of the better one. */
function mixed(part: number, random: Random): number {
  return random() < part ? betaDraw(0.88, 0.1, random) : betaDraw(0.72, 0.14, random);
}

function inflated(random: Random): number {
  const which = random();
  if (which < 0.7) {
    return 1;
  }
  return which < 0.78 ? 0 : betaDraw(0.68, 0.15, random);
}

const DISCRETE = [
  [0, 0.05],
  [0.33, 0.08],
  [0.5, 0.1],
  [0.67, 0.17],
  [1, 0.6],
] as const;

function discrete(random: Random): number {
  let left = random();
  for (const [value, part] of DISCRETE) {
    left -= part;
    if (left < 0) {
      return value;
    }
  }
  return 1;
}

/** Draws a beta-distributed number with this mean and standard deviation, rounded to hundredths. */
function betaDraw(mean: number, deviation: number, random: Random): number {
  const size = (mean * (1 - mean)) / (deviation * deviation) - 1;
  const left = gamma(mean * size, random);
  const right = gamma((1 - mean) * size, random);
  return Math.round((left / (left + right)) * 100) / 100;
}

/**
 * Draws a gamma-distributed number by the method of Marsaglia and Tsang (2000) for shapes of at least 1; smaller shapes use
 * its boost.
 */
function gamma(shape: number, random: Random): number {
  if (shape < 1) {
    return gamma(shape + 1, random) * random() ** (1 / shape);
  }
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const normal = gauss(random);
    const cube = (1 + c * normal) ** 3;
    if (cube > 0 && Math.log(1 - random()) < normal * normal * 0.5 + d - d * cube + d * Math.log(cube)) {
      return d * cube;
    }
  }
}

function gauss(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Draws a count of events with this mean. */
function poisson(mean: number, random: Random): number {
  if (mean > 30) {
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * gauss(random)));
  }
  const limit = Math.exp(-mean);
  let product = random();
  let count = 0;
  while (product > limit) {
    product *= random();
    count += 1;
  }
  return count;
}
