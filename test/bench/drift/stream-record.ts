import {
  type Contender,
  delays,
  type Firings,
  incident,
  quietMonth,
  buildReference,
} from '../../support/monitors/drift-simulation.ts';
import type { Family } from '../../support/builders/score-streams.ts';

export const DROPS = [0.05, 0.1, 0.2] as const;
type Drop = (typeof DROPS)[number];

/** One kind of stream: a family of scores at a rate. */
export interface Stream {
  readonly family: Family;
  readonly perHour: number;
}

/** Results of one contender over all repetitions of one kind of stream. */
export interface StreamRecord {
  /** Alarms in 30 days without a change. */
  readonly quiet: readonly Firings[];
  /** Scores until a fall was found; infinite where it was not. */
  readonly delays: { readonly [D in Drop]: readonly number[] };
  /** Alarms during a fall of five days. */
  readonly during: readonly Firings[];
  /** Alarms in the thirteen days around it. */
  readonly around: readonly Firings[];
}

/** Whose turn it is on how many streams. */
export interface Entrants {
  readonly contenders: readonly Contender[];
  /** So many streams are watched by all of them, */
  readonly byAll: number;
  /** and on to so many by the first `few` alone. */
  readonly byFew: number;
  readonly few: number;
  /** Seed of the first stream. */
  readonly firstSeed: number;
}

/** Watches seeded streams of a kind with its entrants at once; the n-th record is that of the n-th contender. */
export function recordStream(
  stream: Stream,
  { contenders: all, byAll, byFew, few, firstSeed }: Entrants,
): StreamRecord[] {
  const records = all.map(() => ({
    quiet: [] as Firings[],
    delays: { 0.05: [] as number[], 0.1: [] as number[], 0.2: [] as number[] },
    during: [] as Firings[],
    around: [] as Firings[],
  }));
  for (let turn = 0; turn < byFew; turn += 1) {
    const contenders = turn < byAll ? all : all.slice(0, few);
    const trial = { ...stream, seed: firstSeed + turn };
    const reference = buildReference(trial);
    const quiet = quietMonth(trial, reference, contenders);
    const found = DROPS.map((drop) => [drop, delays(trial, drop, reference, contenders)] as const);
    const incidents = incident(trial, reference, contenders);
    for (const [index, record] of records.entries()) {
      record.quiet.push(...quiet.slice(index, index + 1));
      for (const [drop, scores] of found) {
        record.delays[drop].push(...scores.slice(index, index + 1));
      }
      for (const { during, around } of incidents.slice(index, index + 1)) {
        record.during.push(during);
        record.around.push(around);
      }
    }
  }
  return records;
}

/** Mean number of alarms of a repetition. */
export function firedEach(firings: readonly Firings[]): number {
  return firings.reduce((sum, { fired }) => sum + fired, 0) / firings.length;
}

/** The value that a part of the values does not exceed. */
export function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * part) - 1] ?? Number.NaN;
}
