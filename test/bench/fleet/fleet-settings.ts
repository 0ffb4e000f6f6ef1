import { BEAT_EVERY_MS, MEMBER_TTL_MS } from '../../../src/ownership/ownership.ts';
import { BLOCK_SHARE, REST_SHARE } from '../../../src/scoring/budget/account-terms.ts';
import { FIGURES } from './measured-figures.ts';
import { computeScoreUsd, SECONDS_PER_DAY, type JudgePrice } from './needs.ts';

const MS_PER_S = 1_000;

/** Price of the examples, USD per million tokens. */
export const EXAMPLE_PRICE: JudgePrice = { input: 0.25, output: 2 };

/** Fleet, its traffic, its judges and its faults: what a user chooses or has. */
export interface FleetSettings {
  readonly spansPerSecond: number;
  readonly spansPerTrace: number;
  /** Scorer processes. */
  readonly scorers: number;
  readonly seconds: number;
  /** One scorer process is killed at this interval; 0: none. */
  readonly killEveryS: number;
  /** Time from the kill of a process to the first beat of its successor. */
  readonly restartS: number;
  /** Calls that a process makes to its judge at the same time (`judges.providers.<name>.concurrency`). */
  readonly places: number;
  /** Mean time of a judge call while the judge is not slow. */
  readonly judgeMs: number;
  /** Factor of this time while the judge is slow. */
  readonly slowFactor: number;
  /** Length of a slow time, and mean time between the beginnings of two. */
  readonly slowForS: number;
  readonly slowEveryS: number;
  readonly price: JudgePrice;
  readonly budgetPerDayUsd: number;
  /** Share of judge calls that goes to the newest traces (`scoring.newestShare`). */
  readonly newestShare: number;
  readonly seed: number;
}

export const DEFAULT_FLEET: FleetSettings = {
  spansPerSecond: 100_000,
  spansPerTrace: 8,
  scorers: 32,
  seconds: 3_600,
  killEveryS: 60,
  restartS: 30,
  places: 8,
  judgeMs: 2_000,
  slowFactor: 4,
  slowForS: 120,
  slowEveryS: 600,
  price: EXAMPLE_PRICE,
  budgetPerDayUsd: 5_000,
  newestShare: 0.5,
  seed: 1,
};

/** Numbers of the product and of its benches that the model uses. */
export const FITTED = {
  /** Time after the last beat of a killed process until the others count it as gone. */
  leaseS: MEMBER_TTL_MS / MS_PER_S,
  beatS: BEAT_EVERY_MS / MS_PER_S,
  /** Time after which a new member takes traces that become ready. */
  joinS: (2 * BEAT_EVERY_MS) / MS_PER_S,
  /** Time of the sweep that finds the traces of a killed process. */
  sweepS: FIGURES.sweepS.value,
  /** Traces a second whose code scorers one process runs. */
  codeTracesPerSecond: FIGURES.codeTracesPerSecond.value,
  /** Largest block of a budget that a process leases: as a part of the budget, and of the rest. */
  blockShare: BLOCK_SHARE,
  restShare: REST_SHARE,
} as const;

export function computeTracesPerSecond({ spansPerSecond, spansPerTrace }: FleetSettings): number {
  return spansPerSecond / spansPerTrace;
}

/** Returns the sample rate of the judged rule for which the budget of a day pays. */
export function computeSampleRate(settings: FleetSettings): number {
  const perDay = computeTracesPerSecond(settings) * SECONDS_PER_DAY;
  return Math.min(1, settings.budgetPerDayUsd / (perDay * computeScoreUsd(settings.price)));
}
